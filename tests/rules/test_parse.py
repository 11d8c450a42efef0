"""Users' rules: what is read, what is refused, and how the refusal reads."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilesearch.errors import InputError
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import Var, const
from tilesearch.rules.parse import Ratio, parse_integer, parse_rule, parse_rules

BOX = {"block_m": (16, 64, 128), "block_n": (16, 256), "split_k": (0, 1, 2)}
NAMES = {n: Var(n) for n in BOX} | {"m": const(4096, "m"), "tail_fill": Ratio(Var("block_m"), const(128))}
TILE = {"block_m": 64, "block_n": 256, "split_k": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("block_m * block_n <= 16384", True),
        ("64 <= block_m < 128", True),
        ("block_m in (32, 64)", True),
        ("block_m not in [64]", False),
        ("split_k == 0 or m % split_k == 0", True),
        ("not block_m > 64 and block_n >= 256", True),
        ("min(block_m, block_n) == 64", True),
        ("ceildiv(m, block_m) == 64", True),
        ("(block_m if split_k > 1 else block_n) == 64", True),
        ("tail_fill >= 0.5", True),
        ("tail_fill > 0.5", False),
        ("block_m / block_n == 1 / 4", True),
        ("-block_m < 0", True),
        ("tail_fill + 0.25 == 0.75", True),
    ],
)
def test_reads(text, expected):
    assert evaluate(parse_rule(text, NAMES, BOX), TILE) is expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("block_q2 >= 32", "there is no 'block_q2'"),
        ("block_mm >= 32", "did you mean 'block_m'"),
        ("m // split_k > 2", "divides by zero at split_k = 0"),
        ("m / (block_m - 16) > 2", "always positive"),
        ("1 // 0 == 1", "divides by zero"),
        ("__import__('os').system('true')", "cannot be called"),
        ("import os", "cannot be read"),
        ("open('x') == 1", "cannot be called"),
        ("block_m.__class__ == 1", "Attribute is not part"),
        ("[x for x in (1, 2)]", "ListComp is not part"),
        ("(lambda: 1)() == 1", "cannot be called"),
        ("block_m", "not a relation"),
        ("block_m >=", "cannot be read"),
        ("block_m ** 2 > 4", "Pow is not part"),
        ("'a' == 1", "not a number"),
        ("block_m := 3", "cannot be read"),
        ("block_m % 0.5 == 0", "whole numbers"),
        ("", "cannot be read"),
        ("(" * 5000 + "1" + ")" * 5000, "cannot be read"),
        ("1" * 5000 + " > block_m", "cannot be read"),
        ("block_m > " + "-" * 3000 + "1", "nested too deeply"),
        ("1e999 > block_m", "finite"),
        ("min(block_m) > 1", "arguments"),
        ("block_m in block_n", "list of numbers"),
    ],
)
def test_refuses(text, says):
    with pytest.raises(InputError, match=says) as caught:
        parse_rule(text, NAMES, BOX, "rules.extra[0]", "p.toml")
    assert str(caught.value).startswith("p.toml: rules.extra[0]:")


def test_an_objective_is_an_integer():
    assert evaluate(parse_integer("block_m * 2 + 1", NAMES, BOX), TILE) == 129
    with pytest.raises(InputError, match="fraction"):
        parse_integer("block_m / 2", NAMES, BOX)


def test_rules_together_excuse_a_division_by_zero():
    box = {"w": (1, 2, 4), "m": (1, 2, 4)}
    names = {name: Var(name) for name in box}
    texts = ["8 % (w // m) == 0", "w % m == 0"]
    trees = parse_rules(texts, names, box)
    for w, m in product(box["w"], box["m"]):
        expected = w % m == 0 and 8 % (w // m) == 0
        assert all(evaluate(tree, {"w": w, "m": m}) for tree in trees) is expected
    assert evaluate(parse_integer("8 // (w // m)", names, box, given=trees), {"w": 4, "m": 2}) == 4
    for without in (["8 % (w // m) == 0"], ["8 % (w // m) == 0", "w >= 1"]):
        with pytest.raises(InputError, match=r"rules\[0\]: .*divides by zero at m = 2, w = 1"):
            parse_rules(without, names, box, "rules")
    with pytest.raises(InputError, match="divides by zero"):
        parse_integer("8 // (w // m)", names, box)


def test_rules_together_report_every_fault():
    with pytest.raises(InputError) as caught:
        parse_rules(["block_m >", "block_m > 1", "blockm > 1"], NAMES, BOX, "rules")
    assert [issue.where for issue in caught.value.issues] == ["rules[0]", "rules[2]"]


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="block_mn0123456789+-*/%()<>=. andorifels,[]{}'\"\\\n\x00:", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        tree = parse_rule(text, NAMES, BOX)
    except InputError:
        return
    assert tree.is_bool
