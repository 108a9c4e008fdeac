"""Mistakes of a trial surface before anything is compiled, run or written: one line that names what is wrong."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts


@dataclass(frozen=True)
class Params:
    n: int = 2
    count: float = ts.field(3.0, whole=True)
    repeats: ts.Traced[int] = 2
    scale: float = 0.5


def refuses(trial, *words, over=None, error=ts.InvalidArgument, **more):
    with pytest.raises(error) as caught:
        ts.sweep(trial, Params(), over, **more)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (lambda: jnp.ones(2), ["trial", "dict"]),
        (dict, ["trial", "at least one output"]),
        (lambda: {"seed": 1.0}, ["output = seed", "time, cell, status"]),
        (lambda: {"time": 1.0}, ["output = time"]),
        (lambda: {"status": 1.0}, ["output = status"]),
        (lambda: {"scale": 1.0}, ["output = scale", "other than a field's"]),
        (lambda: {"two words": 1.0}, ["output = two words"]),
        (lambda: {"loss": "low"}, ["output loss = str", "array of numbers"]),
        (lambda: {"loss": None}, ["output loss = NoneType"]),
        (lambda: {"loss": {"train": 1.0}}, ["output loss = dict"]),
        (lambda: {"loss": jax.random.key(0)}, ["output loss = key<fry>", "float32"]),
        (lambda: {"loss": jnp.complex64(1)}, ["output loss = complex64", "float32"]),
        (lambda: {"loss": ts.named(jnp.ones(2), "seed")}, ["axis of loss = seed", "taken"]),
        (lambda: {"loss": ts.named(jnp.ones(2), "n")}, ["axis of loss = n", "taken"]),
        (lambda: {"loss": ts.named(jnp.ones(2), "loss")}, ["axis of loss = loss", "taken"]),
        (lambda: {"loss": ts.named(jnp.ones((2, 2)), "filter", "filter")}, ["axis of loss = filter", "taken"]),
        (lambda: {"a": jnp.ones(2), "b": jnp.ones(3)}, ["axis of b = axis_0", "its length is 3, but 2", "ts.named"]),
        (
            lambda: {"a": ts.named(jnp.ones(2), "time", time=[0, 1]), "b": ts.named(jnp.ones(2), "time", time=[0, 2])},
            ["axis of b = time", "other coordinates"],
        ),
    ],
)
def test_outputs(returned, words):
    refuses(lambda p, key: returned(), *words, over={"n": [1, 2]})


@pytest.mark.parametrize(
    ("trial", "field", "remedy"),
    [
        (lambda p, key: {"x": jnp.ones(p.count).sum()}, "count", "int"),
        (lambda p, key: {"x": jnp.ones(int(p.count)).sum()}, "count", "ts.Static[float]"),
        (lambda p, key: {"x": jnp.ones((2, p.repeats)).sum()}, "repeats", "ts.Static[int]"),
        (lambda p, key: {"x": sum(p.scale for _ in range(p.repeats))}, "repeats", "ts.Static[int]"),
        (lambda p, key: {"x": 1.0 if p.scale > 0 else 2.0}, "scale", "ts.Static[float]"),
        (lambda p, key: {"x": np.sin(p.scale)}, "scale", "ts.Static[float]"),
    ],
)
@pytest.mark.parametrize("swept", [False, True])
def test_a_traced_field_that_must_be_static_is_named_with_the_remedy(trial, field, remedy, swept, tmp_path):
    over = {field: [1, 2]} if swept else None
    words = [f"field {field} is traced", f"annotate it {remedy}"]
    refuses(trial, *words, over=over, error=ts.Refused, store=tmp_path / "new" / "store")
    assert not list(tmp_path.iterdir())


def test_two_fields_to_blame():
    refuses(
        lambda p, key: {"x": jnp.ones((int(p.count), int(p.repeats))).sum()},
        "needs the value of a traced number",
        error=ts.Refused,
    )


def test_a_mistake_of_the_trial_itself_stays_as_it_is():
    with pytest.raises(TypeError, match="unsupported operand"):
        ts.sweep(lambda p, key: {"x": None + p.scale}, Params())


def test_shapes_that_differ_between_static_parts(programs, tmp_path):
    def trial(p, key):
        return {"x": p.scale * jnp.ones(p.n)}

    words = ["n=3: the outputs have other shapes", "n=2", "sweep apart"]
    refuses(trial, *words, over={"n": [2, 3]}, error=ts.Refused, store=tmp_path / "store")
    assert not programs
    assert not list(tmp_path.iterdir())


def test_too_many_programs():
    trial = pytest.fail
    refuses(trial, "n = (static)", "65 values would compile 65 programs", "at most 64", "ts.Traced", over={"n": range(1, 66)})


@pytest.mark.parametrize(("name", "value", "kind"), [("repeats", 2**31, "int32"), ("scale", 1e39, "float32")])
def test_a_number_that_the_precision_cannot_hold(name, value, kind):
    def trial(p, key):
        return {"x": p.scale * p.repeats}

    refuses(trial, f"{name} = {value}", f"must fit {kind}", over={name: [1, value]})
    with pytest.raises(ts.InvalidArgument, match=f"must fit {kind}"):
        ts.sweep(trial, Params(**{name: value}))
    assert ts.sweep(trial, Params(**{name: value}), x64=True).status.item() == 1


def test_an_axis_is_checked_against_the_fields_of_each_sweep():
    def trial(p, key):
        return {"x": ts.named(p.scale * jnp.ones(2), "n")}

    assert ts.sweep(trial, Params()).x.dims == ("seed", "n")  # `n` is not swept
    refuses(trial, "axis of x = n", "taken", over={"n": [1, 2]})
