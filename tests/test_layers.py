"""Imports point one way, and a bare `import tilesearch` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "tilesearch"

# Lower layers first; a module may import its own layer and those below. The three families of one layer
# (engines, models, kernels) do not import one another.
LAYERS = [
    {"errors"},
    {"answers"},
    {"specs"},
    {"program"},
    {"rules"},
    {"ledger"},
    {"engines", "models", "kernels"},
    {"explanation", "scheduling"},
    {"api"},
    {"report", "hooks", "measure"},
    {"cli"},
]
SEPARATE = [{"engines", "models", "kernels"}]


def layer_of(name):
    return next(i for i, names in enumerate(LAYERS) if name in names)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tilesearch."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "tilesearch":
            yield from (alias.name for alias in node.names if (PACKAGE / alias.name).exists())
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("tilesearch."))


MODULES = [p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem in {"errors", "answers"}]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for target in imports(path):
        if target == own or target in {"__init__", "__version__"}:
            continue
        assert layer_of(target) <= layer_of(own), f"{path} imports {target}, which lies above it"
        for family in SEPARATE:
            assert not {own, target} <= family, f"{path}: {own} imports its neighbour {target}"


def test_every_package_has_a_layer():
    named = set().union(*LAYERS)
    packages = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}
    assert packages - named <= {"hardware", "problems"}


def test_import_is_light():
    code = (
        "import sys, tilesearch; tilesearch.__version__; "
        "print([m for m in ('z3', 'ortools', 'numpy', 'pydantic', 'rich', 'typer') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
