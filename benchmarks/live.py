"""What the live benchmarks share: a record that is written as it grows, and a description of where it was made."""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import Any


class Record:
    """Rows of results in a JSON file that is rewritten with each one, so that a run that is stopped keeps its rows."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path, self.about = path, about
        self.rows: list[dict[str, Any]] = []
        self.known: dict[str, dict[str, Any]] = {}
        self.summary: dict[str, Any] = {}
        self.start = time.perf_counter()
        path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self.write()

    def take(self, label: str, measure: Any, summary: Any, line: Any) -> float:
        """Add what `measure` returns and print its line; a failure is printed, and does not end the run. Seconds."""
        start = time.perf_counter()
        try:
            row = measure()
        except Exception as error:
            print(f"{label}: {type(error).__name__}: {error}", flush=True)
            return 0.0
        self.rows.append(row)
        self.summary = summary(self.rows)
        self.write()
        print(line(row), flush=True)
        return time.perf_counter() - start

    def finish(self, summary: dict[str, Any]) -> None:
        self.summary = summary
        self.write()

    def write(self) -> None:
        text = json.dumps(
            {
                "about": self.about,
                "elapsed_s": round(time.perf_counter() - self.start, 1),
                "summary": self.summary,
                "rows": self.rows,
            },
            indent=1,
        )
        part = self.path.with_suffix(".part")
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(self.path)


def environment() -> dict[str, Any]:
    """Versions of what measures, and the GPU's name, where there is one."""
    found: dict[str, Any] = {"python": platform.python_version()}
    for name in ("numpy", "torch", "triton"):
        try:
            found[name] = str(__import__(name).__version__)
        except Exception as error:
            found[name] = f"missing: {type(error).__name__}"
    try:
        import torch

        found["gpu"] = torch.cuda.get_device_name() if torch.cuda.is_available() else None
        found["cuda"] = torch.version.cuda
    except Exception:
        found["gpu"] = None
    return found
