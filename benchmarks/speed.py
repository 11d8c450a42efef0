"""Speed of the engines as ratios and seconds, measured in one run. See README.md beside this file."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import tilesearch as ts
from tilesearch.engines.base import Request
from tilesearch.engines.registry import engine
from tilesearch.rules.spaces import space_model
from tilesearch.specs.spaces import load_space

ROOT = Path(__file__).resolve().parents[1]


def median(action, runs):
    """Median wall seconds of `action` over `runs`, after one run that does not count."""
    action()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def list_all(path):
    """Seconds to list every valid row: reading and parsing the constraints included."""

    def action():
        outcome = engine("vector").enumerate(Request(space_model(load_space(path))))
        assert outcome.listed
        return len(outcome.tiles)

    return median(action, 5), action()


def kernel_tuner(path):
    """The same with Kernel Tuner's default search space; None where it is not installed."""
    try:
        from kernel_tuner.searchspace import Searchspace
    except ImportError:
        return None
    space = load_space(path)
    parameters = {name: list(values) for name, values in space.parameters.items()}

    def action():
        return Searchspace(parameters, list(space.constraints), 1 << 30).size

    return median(action, 3), action()


def prove(path):
    """Seconds for CP-SAT to prove the least cost, building the model included."""
    values = []

    def action():
        model = space_model(load_space(path))
        outcome = engine("cpsat").best(Request(model), next(iter(model.keys.values())), 1)
        values.append((outcome.status.value, len(outcome.tiles)))

    return median(action, 3), values[-1]


def warm_solve():
    """Seconds of a warm solve of the main job through the API."""
    problem = ts.load_problem(ROOT / "problems" / "gemm4096.toml")
    return median(lambda: ts.solve(problem), 30)


def importing():
    """Seconds of `import tilesearch` in fresh processes, the interpreter's start taken off by its own clock."""
    code = "import time; t = time.perf_counter(); import tilesearch; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return statistics.median(float(run.stdout) for run in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spaces", type=Path, default=ROOT / "tests" / "data" / "spaces")
    spaces = parser.parse_args().spaces
    ours, rows = list_all(spaces / "tile_gemm_1e6.json")
    print(f"vector engine, tile_gemm_1e6: {rows} rows in {ours * 1e3:.1f} ms")
    theirs = kernel_tuner(spaces / "tile_gemm_1e6.json")
    if theirs is None:
        print("Kernel Tuner is not installed: no ratio (pip install kernel-tuner==1.5.0)")
    else:
        print(f"Kernel Tuner, the same: {theirs[1]} rows in {theirs[0] * 1e3:.1f} ms; ratio {theirs[0] / ours:.1f}x")
    seconds, (status, count) = prove(spaces / "tile_gemm_1e8.json")
    print(f"CP-SAT, tile_gemm_1e8: {status} in {seconds:.3f} s ({count} tiles share the least cost)")
    print(f"solve(gemm4096), warm: {warm_solve() * 1e3:.2f} ms")
    print(f"import tilesearch: {importing() * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
