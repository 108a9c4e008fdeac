"""Values of a field as text and as a grid: what is read is what was written, and bad values are refused in one line."""

import inspect
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theorysim as ts
from theorysim._sweep.params import checked, fields_of
from theorysim._sweep.plan import plan
from theorysim._sweep.values import grid_values, parse


@dataclass(frozen=True)
class Params:
    n: int = ts.field(20, low=1)
    widths: tuple[int, ...] = (1, 2)
    bias: bool = True
    kind: str = ts.field("sum", choices=("sum", "mean"))
    frame: str = "reduced"
    dim: float = ts.field(100.0, low=2, whole=True)
    flip: float = ts.field(0.1, low=0, high=0.5)
    signal: float = 1.0
    ratio: ts.Static[float] = 1.0
    count: ts.Traced[int] = 1


FIELDS = fields_of(Params)


def message(call, *arguments):
    """What is said of a bad argument: one line that names it, its value and the rule."""
    with pytest.raises(ts.InvalidArgument) as caught:
        call(*arguments)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"{caught.value.name} = ")
    assert text.endswith(f": {caught.value.rule}")
    return text


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("signal", "0.3", [0.3]),
        ("signal", "1,2, 5", [1.0, 2.0, 5.0]),
        ("signal", "-1e-3", [-0.001]),
        ("signal", "lin:0:8:33", np.linspace(0, 8, 33).tolist()),
        ("signal", "lin:8:0:3", [8.0, 4.0, 0.0]),
        ("signal", "lin:5:5:1", [5.0]),
        ("signal", "log:1e2:1e9:8", [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]),
        ("dim", "log:1e2:1e9:8", [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]),
        ("dim", "log:10:100:3", [10.0, 32.0, 100.0]),
        ("dim", "log:2:4:9", [2.0, 3.0, 4.0]),
        ("n", "log:1:100:3", [1, 10, 100]),
        ("n", "3,1e2", [3, 100]),
        ("n", "9007199254740993", [2**53 + 1]),
        ("bias", "true,No", [True, False]),
        ("kind", "mean,sum", ["mean", "sum"]),
    ],
)
def test_text(name, text, values):
    read = parse(FIELDS[name], text)
    np.testing.assert_array_equal(read, values) if "log" not in text else np.testing.assert_allclose(read, values, rtol=1e-12)
    assert {type(value) for value in read} == {FIELDS[name].kind}


@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=20, unique=True))
def test_numbers_survive_as_text(numbers):
    assert parse(FIELDS["flip"], ",".join(map(repr, numbers))) == numbers
    assert grid_values(FIELDS["flip"], np.array(numbers)) == numbers


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(1, 50))
def test_a_log_grid_of_whole_numbers_is_rounded_and_has_each_once(low, high, count):
    values = parse(FIELDS["n"], f"log:{low}:{high}:{count}")
    assert all(type(value) is int and min(low, high) <= value <= max(low, high) for value in values)
    assert values == sorted(set(values))
    assert low in values
    assert len(values) <= count
    exact = np.geomspace(low, high, count)
    assert all(np.abs(exact - value).min() <= 0.5 + 1e-6 * value for value in values)


@given(st.integers(2, 10**12))
def test_rounding_noise_of_a_whole_number_is_removed_and_nothing_else(number):
    dim = FIELDS["dim"]
    assert grid_values(dim, [np.nextafter(number, np.inf)]) == [float(number)]
    if number < 10**8:
        assert "whole number" in message(grid_values, dim, [number + 0.5])


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_number_is_in_its_range_or_refused(number):
    item = FIELDS["flip"]
    if 0 <= number <= 0.5:
        assert item.check(number) == number
    else:
        assert "must be a number in [0, 0.5]" in message(item.check, number)


@given(st.text())
def test_any_text_is_read_or_refused_in_one_line(text):
    for name in ("n", "flip", "bias", "kind"):
        values, said = [], ""
        try:
            values = parse(FIELDS[name], text)
        except ts.InvalidArgument as error:
            said = str(error)
        assert len(said.splitlines()) == (0 if values else 1)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("flip", "often", "flip = often: must be a number in [0, 0.5]"),
        ("flip", "0.6", "flip = 0.6: must be a number in [0, 0.5]"),
        ("flip", "-0.1", "flip = -0.1: must be a number in [0, 0.5]"),
        ("flip", "nan", "flip = nan: must be a number in [0, 0.5]"),
        ("flip", "", "flip = '': must be a number in [0, 0.5]"),
        ("flip", "0.1,,0.2", "flip = '': must be a number in [0, 0.5]"),
        ("flip", "0.1,0.1", "flip = [0.1, 0.1]: a grid holds each value once"),
        ("n", "0", "n = 0: must be a finite whole number >= 1"),
        ("n", "2.5", "n = 2.5: must be a finite whole number >= 1"),
        ("dim", "1", "dim = 1: must be a finite whole number >= 2"),
        ("dim", "2.5", "dim = 2.5: must be a finite whole number >= 2"),
        ("dim", "inf", "dim = inf: must be a finite whole number >= 2"),
        ("signal", "1e400", "signal = inf: must be a finite number"),
        ("kind", "median", "kind = median: must be one of sum, mean"),
        ("frame", "curved", "frame = curved: must be one of reduced, ambient"),
        ("bias", "maybe", "bias = maybe: must be true or false"),
        ("widths", "1,2", "widths = 1: must be a tuple"),
        ("signal", "log:0:8:3", "signal = log:0:8:3: a log grid needs both ends > 0"),
        ("signal", "log:-1:8:3", "signal = log:-1:8:3: a log grid needs both ends > 0"),
        ("signal", "lin:0:8:0", "a grid is lin:FROM:TO:COUNT with a whole COUNT in [1, 100000]"),
        ("signal", "lin:0:8:2.5", "lin:FROM:TO:COUNT"),
        ("signal", "lin:0:8:inf", "lin:FROM:TO:COUNT"),
        ("signal", "lin:0:8:nan", "lin:FROM:TO:COUNT"),
        ("signal", "lin:0:8:1e12", "lin:FROM:TO:COUNT"),
        ("signal", "lin:0:inf:3", "lin:FROM:TO:COUNT"),
        ("signal", "lin:0:8", "lin:FROM:TO:COUNT"),
        ("signal", "lin:0:8:3:4", "lin:FROM:TO:COUNT"),
        ("signal", "lin:a:8:3", "lin:FROM:TO:COUNT"),
        ("signal", "lin:5:5:3", "each value once"),
        ("flip", "lin:0:1:3", "flip = 1.0: must be a number in [0, 0.5]"),
    ],
)
def test_bad_text(name, text, rule):
    assert rule in message(parse, FIELDS[name], text)


@pytest.mark.parametrize(
    ("over", "rule"),
    [
        ({"flip": []}, "flip = []: an empty grid: give at least one value"),
        ({"flip": [0.1, 0.6]}, "flip = 0.6: must be a number in [0, 0.5]"),
        ({"flip": [0.1, float("nan")]}, "flip = nan"),
        ({"flip": ["often"]}, "flip = often"),
        ({"flip": [True]}, "flip = True"),
        ({"flip": [[0.1], [0.2, 0.3]]}, "flip = [[0.1], [0.2, 0.3]]"),
        ({"flip": np.full((2, 2), 0.1)}, "flip = [0.1, 0.1]"),
        ({"flip": None}, "flip = None"),
        ({"n": [1, 0]}, "n = 0: must be a finite whole number >= 1"),
        ({"n": [2.5]}, "n = 2.5"),
        ({"dim": np.geomspace(100, 1000, 4)}, "dim = 215.44"),
        ({"dim": [np.inf]}, "dim = inf"),
        ({"count": [10**400]}, "count = 1000"),
        ({"signl": [1]}, "field = signl: unknown; the fields are n, widths, bias, kind, frame, dim, flip"),
        ({"frame": ["reduced", "ambient"]}, "frame = ['reduced', 'ambient']: cannot be swept"),
    ],
)
def test_bad_grids(over, rule):
    assert rule in message(plan, Params(), over, 1)


@pytest.mark.parametrize("seeds", [0, -1, True, 1.5, float("nan"), None, "3"])
def test_bad_seeds(seeds):
    assert f"seeds = {seeds}: must be a whole number >= 1" in message(inspect.unwrap(plan), Params(), {}, seeds)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"flip": 0.6}, "flip = 0.6"),
        ({"flip": "0.1"}, "flip = 0.1: must be a number in [0, 0.5]"),
        ({"n": 0}, "n = 0"),
        ({"n": True}, "n = True"),
        ({"widths": 3}, "widths = 3: must be a tuple"),
        ({"bias": 1}, "bias = 1: must be true or false"),
        ({"kind": "a\nb"}, "kind = a b: must be one of sum, mean"),
        ({"heat": 1}, "field = heat: unknown"),
    ],
)
def test_bad_params(changes, rule):
    assert rule in message(checked, Params, changes)
    if "heat" not in changes:
        assert rule in message(plan, Params(**changes), {}, 1)


def test_what_is_no_params_at_all():
    assert "params = None: must be a dataclass" in message(plan, None, {}, 1)

    @dataclass(frozen=True)
    class Odd:
        table: dict = None

    assert "table = <class 'dict'>: a field is an int, float, bool, str or tuple" in message(fields_of, Odd)


def test_the_annotation_decides_what_is_static():
    assert {name for name, item in FIELDS.items() if item.traced} == {"dim", "flip", "signal", "count"}
    ambient = fields_of(Params(frame="ambient"))
    assert {name for name, item in ambient.items() if item.traced} == {"flip", "signal", "count"}


def test_values_get_the_type_of_their_field():
    params = checked(Params, {"n": np.int64(3), "dim": 5, "flip": np.float32(0.25), "widths": [3, 4], "signal": 2})
    assert params == Params(n=3, dim=5.0, flip=0.25, widths=(3, 4), signal=2.0)
    assert [type(value) for value in (params.n, params.dim, params.flip, params.signal)] == [int, float, float, float]
    assert checked(Params()) == Params()


def test_cells_are_flat_with_the_seed_slowest():
    planned = plan(Params(), {"flip": [0.1, 0.2], "n": [1, 2], "signal": [0, 1, 2]}, 4)
    assert [part.label for part in planned.parts] == ["n=1", "n=2"]
    assert planned.cells == 48
    part = planned.parts[0]
    assert (part.per_seed, part.cells, part.params.n) == (6, 24, 1)
    assert {name: values.tolist() for name, values in part.grid.items()} == {
        "flip": [0.1, 0.1, 0.1, 0.2, 0.2, 0.2],
        "signal": [0, 1, 2, 0, 1, 2],
    }
    assert plan(Params(), {}, 2).cells == 2
