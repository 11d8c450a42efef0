"""verify spaces: counts, row numbers and costs of constrained spaces, and files that do not hold any."""

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilesearch.api import verify
from tilesearch.api.verify.spaces import WRAP
from tilesearch.errors import InputError

FOLDER = Path(__file__).parents[1] / "data" / "spaces"
SPACE = {
    "name": "small",
    "parameters": {"a": [4, 1, 2], "b": [0, 3]},
    "constraints": ["b == 0 or a % b == 1", "a > 1"],
    "cost": "a * 10 - b",
    "valid_configs": 3,
    "index_sum": 0 + 1 + 4,
    "top_costs": [20, 37],
}
BAD = [
    {"parameters": {}},
    {"parameters": {"a": []}},
    {"parameters": {"a": 3}},
    {"parameters": {"a": [1, 1]}},
    {"parameters": {"a": [1.5]}},
    {"parameters": {"a": ["x"]}},
    {"parameters": {"a": [2**62]}},
    {"parameters": {"a b": [1]}},
    {"parameters": {"min": [1]}},
    {"parameters": {"lambda": [1]}},
    {"parameters": None},
    {"constraints": "a > 1"},
    {"constraints": ["a >"]},
    {"constraints": ["a + 1"]},
    {"constraints": ["c > 1"]},
    {"constraints": ["__import__('os')"]},
    {"constraints": ["4 % b == 0"]},
    {"constraints": ["4 % b == 0", "b >= 0"]},
    {"cost": "a / 2"},
    {"cost": "a // b"},
    {"cost": None},
    {"valid_configs": -1},
    {"index_sum": "5"},
    {"top_costs": [1.5]},
]


def write(folder, content, name="space.json"):
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def test_reference_spaces():
    files = sorted(FOLDER.glob("*.json"))
    answer = verify("spaces", files)
    assert (answer.rows, answer.agree, answer.disagree, answer.skipped) == (len(files), len(files), [], 0)
    assert len(files) == 4


def test_values_keep_their_order_and_wrong_numbers_are_found(tmp_path):
    assert verify("spaces", [write(tmp_path, SPACE)]).agree == 1
    wrong = {"valid_configs": 4, "index_sum": 6, "top_costs": [20, 38]}
    for key, value in wrong.items():
        answer = verify("spaces", [write(tmp_path, {**SPACE, key: value})])
        assert [(d.row, list(d.expected)) for d in answer.disagree] == [("small", [key])]


@pytest.mark.parametrize("change", BAD, ids=str)
def test_bad_spaces_are_bad_input(tmp_path, change):
    with pytest.raises(InputError):
        verify("spaces", [write(tmp_path, {**SPACE, **change})])


def test_every_fault_is_reported(tmp_path):
    with pytest.raises(InputError) as caught:
        verify("spaces", [write(tmp_path, {**SPACE, "constraints": ["a >", "c > 1", "a > 1"]})])
    assert [issue.where for issue in caught.value.issues] == ["constraints[0]", "constraints[1]"]


def test_nothing_recorded_is_nothing_to_verify(tmp_path):
    bare = {key: SPACE[key] for key in ("parameters", "constraints")}
    with pytest.raises(InputError, match="nothing is recorded"):
        verify("spaces", [write(tmp_path, bare)])


def test_a_division_by_zero_that_another_constraint_excludes(tmp_path):
    space = {"parameters": {"w": [1, 2, 4], "m": [1, 2, 4], "n": [8, 24]}, "name": "warps"}
    rules = ["n % (8 * (w // m)) == 0", "w % m == 0"]
    valid = [(w, m, n) for w, m, n in product(*space["parameters"].values()) if w % m == 0 and n % (8 * (w // m)) == 0]
    for constraints in (rules, rules[::-1]):
        answer = verify("spaces", [write(tmp_path, {**space, "constraints": constraints, "valid_configs": len(valid)})])
        assert answer.disagree == []


def test_sums_beyond_64_bits_are_compared_as_they_are_recorded(tmp_path):
    space = {"parameters": {f"p{i}": list(range(64)) for i in range(11)}, "constraints": ["p0 >= 60", "p1 == p2"]}
    count = 4 * 64 * 64**8
    total = sum(  # every value of a parameter comes as often as any other
        sum(values) * count // len(values) * 64 ** (10 - i)
        for i, values in enumerate([range(60, 64), *[range(64)] * 10])
    )
    for recorded in (total, total % WRAP):
        answer = verify("spaces", [write(tmp_path, {**space, "index_sum": recorded, "valid_configs": count})])
        assert answer.disagree == []


NUMBERS = st.lists(st.integers(-4, 9), min_size=1, max_size=4, unique=True)
TERMS = st.sampled_from(["a", "b", "c", "a * b", "b - c", "a + 2", "min(a, c)", "(b if a > c else 3)", "7"])
RELATIONS = st.builds("{} {} {}".format, TERMS, st.sampled_from(["<", "<=", "==", "!=", ">"]), TERMS)
CONSTRAINTS = st.one_of(RELATIONS, st.builds("{} or {}".format, RELATIONS, RELATIONS))


@settings(max_examples=150, deadline=None)
@given(st.fixed_dictionaries(dict.fromkeys("abc", NUMBERS)), st.lists(CONSTRAINTS, max_size=4), TERMS)
def test_random_spaces_agree_with_python(tmp_path_factory, parameters, constraints, cost):
    rows = [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]
    holds = [all(eval(c, {"min": min}, row) for c in constraints) for row in rows]
    space = {
        "parameters": parameters,
        "constraints": constraints,
        "cost": cost,
        "valid_configs": sum(holds),
        "index_sum": sum(number for number, held in enumerate(holds) if held),
        "top_costs": sorted(eval(cost, {"min": min}, r) for r, held in zip(rows, holds, strict=True) if held)[:5],
    }
    answer = verify("spaces", [write(tmp_path_factory.mktemp("spaces"), space)])
    assert answer.disagree == []
