"""Listing every valid row of constrained spaces: the vector engine beside Kernel Tuner, and CP-SAT's optimum.

    python -m benchmarks.spaces [FILE ...] [--check]

Files are spaces as in tests/data/spaces, which are the default. Both tools start from the text of the
constraints and end with all rows in hand; imports are excluded, times are medians of one run of this script.
Kernel Tuner is compared where it is installed (pip install '.[bench]'). `--check` exits with 1 where a target
is missed: 10x on tile_gemm_1e6, a proved optimum of tile_gemm_1e8 in under a second.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.timing import median_seconds, shown
from tilesearch.engines.base import Request
from tilesearch.engines.registry import engine
from tilesearch.rules.spaces import OBJECTIVE, space_model
from tilesearch.specs.spaces import Space, load_space

DEFAULT = Path(__file__).resolve().parents[1] / "tests" / "data" / "spaces"
SLOW_FROM = 2_000_000_000  # points from which Kernel Tuner is left out: minutes and gigabytes
TARGET_RATIO = ("tile_gemm_1e6", 10.0)
TARGET_PROOF_S = ("tile_gemm_1e8", 1.0)


def list_rows(space: Space) -> Any:
    return engine("vector").enumerate(Request(space_model(space), attribute=False)).tiles


def prove_optimum(space: Space) -> int:
    model = space_model(space)
    outcome = engine("cpsat").best(Request(model), model.keys[OBJECTIVE], 1)
    assert outcome.status in ("optimal", "complete", "infeasible"), outcome.status
    return len(outcome.tiles)


def kernel_tuner_lister() -> Callable[[Space], Any] | None:
    try:
        from kernel_tuner.searchspace import Searchspace
    except ImportError:
        return None

    def rows(space: Space) -> Any:
        parameters = {name: list(values) for name, values in space.parameters.items()}
        with warnings.catch_warnings():  # one for each constraint that is a chained comparison
            warnings.simplefilter("ignore")
            return Searchspace(parameters, list(space.constraints), max_threads=2**62).list

    return rows


def measure(space: Space, peer: Callable[[Space], Any] | None) -> dict[str, Any]:
    rows = list_rows(space)
    result: dict[str, Any] = {"rows": len(rows), "vector": median_seconds(lambda: list_rows(space))}
    if peer is not None and space.cartesian < SLOW_FROM:
        theirs = {tuple(int(v) for v in row) for row in peer(space)}
        assert theirs == set(map(tuple, rows.tolist())), f"{space.name}: the tools list different rows"
        result["kernel_tuner"] = median_seconds(lambda: peer(space), budget_s=4.0)
        result["ratio"] = result["kernel_tuner"] / result["vector"]
    if space.objective is not None:
        result["cpsat"] = median_seconds(lambda: prove_optimum(space))
    return result


def missed(name: str, result: dict[str, Any]) -> Iterator[str]:
    if name == TARGET_RATIO[0] and result.get("ratio", TARGET_RATIO[1]) < TARGET_RATIO[1]:
        yield f"{name}: {result['ratio']:.1f} times Kernel Tuner, wanted {TARGET_RATIO[1]:.0f}"
    if name == TARGET_PROOF_S[0] and result["cpsat"] >= TARGET_PROOF_S[1]:
        yield f"{name}: {shown(result['cpsat'])} for the optimum, wanted less than {TARGET_PROOF_S[1]} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="exit with 1 where a target is missed")
    options = parser.parse_args()
    peer = kernel_tuner_lister()
    if peer is None:
        print("Kernel Tuner is not installed: its columns stay empty", file=sys.stderr)
    print(
        f"{'space':<26}{'points':>10}{'rows':>11}{'vector':>12}{'Kernel Tuner':>15}{'ratio':>8}{'CP-SAT optimum':>17}"
    )
    failures = []
    for path in options.files or sorted(DEFAULT.glob("*.json")):
        space = load_space(path)
        result = measure(space, peer)
        ratio = f"{result['ratio']:.0f}x" if "ratio" in result else "-"
        print(
            f"{space.name:<26}{space.cartesian:>10.3g}{result['rows']:>11}{shown(result['vector']):>12}"
            f"{shown(result.get('kernel_tuner')):>15}{ratio:>8}{shown(result.get('cpsat')):>17}",
            flush=True,
        )
        failures += missed(space.name, result)
    for failure in failures:
        print(f"missed: {failure}", file=sys.stderr)
    return 1 if failures and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
