import pytest

from tilesearch import InputError
from tilesearch.kernels.base import language_data
from tilesearch.kernels.versions import parse_version, since, version_of
from tilesearch.specs.kernels import KernelSpec

KNOWN = ["2.0", "3.1", "3.10"]


@pytest.mark.parametrize(("text", "version"), [("3.6", (3, 6)), ("triton-3.4", (3, 4)), ("3.6.0", (3, 6, 0))])
def test_reading(text, version):
    assert parse_version(text) == version


def test_newest_by_number_and_patch_releases():
    assert version_of(KernelSpec(language="triton"), KNOWN) == (3, 10)
    assert version_of(KernelSpec(language="triton", version="3.1.2"), KNOWN) == (3, 1)
    with pytest.raises(InputError, match=r"known: 2\.0, 3\.1, 3\.10"):
        version_of(KernelSpec(language="triton", version="9"), KNOWN)
    with pytest.raises(InputError):
        version_of(KernelSpec(language="triton", version="newest"), KNOWN)


def test_rows_are_laid_over_one_another():
    rows = [{"since": "3.0", "a": 2}, {"since": "2.0", "a": 1, "b": 5}]
    assert since(rows, (2, 1)) == {"a": 1, "b": 5}
    assert since(rows, (3, 0)) == {"a": 2, "b": 5}
    assert since(rows, (1, 0)) == {}


@pytest.mark.parametrize("name", ["triton", "tilelang", "cutlass"])
def test_data_is_well_formed(name):
    data = language_data(name)
    for entry in [*data["variables"].values(), *(e for p in data.get("profiles", {}).values() for e in p.values())]:
        assert sorted(set(entry["domain"])) == entry["domain"]
    for variable, entry in data["variables"].items():
        assert set(entry["domain"]) <= set(entry["universe"]), variable


def sources(table, where=""):
    """Every table of the data that holds numbers must say where they are from."""
    for key, value in table.items():
        if isinstance(value, dict) and "value" in value:
            assert value.get("source"), f"{where}.{key}"
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            assert all(row.get("source") for row in value), f"{where}.{key}"
        elif isinstance(value, dict):
            sources(value, f"{where}.{key}")


@pytest.mark.parametrize("name", ["triton", "tilelang", "cutlass"])
def test_every_number_has_a_source(name):
    sources(language_data(name), name)
