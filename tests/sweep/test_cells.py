"""What a cell of a sweep is: the trial itself, with a key of its seed, whatever stands beside it."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts
from theorysim._sweep.trace import _largest_in_step, choose_batch

OVER = {"scale": [0.5, 1.0, 2.0, 4.0, 8.0], "shift": [0.0, 1.0, -1.0]}


@pytest.mark.parametrize("root", [0, 2**32 - 1])
def test_a_cell_is_the_trial(tiny, alone, root):
    data = tiny.sweep(OVER, seeds=2, seed=root)
    for seed, scale, shift in [(0, 0.5, 0.0), (1, 8.0, -1.0)]:
        single = alone(tiny.trial, tiny.params(scale=scale, shift=shift), seed, root)
        cell = data.sel(seed=seed, scale=scale, shift=shift)
        assert cell.total == single["total"]
        np.testing.assert_array_equal(cell.samples, single["samples"])


def test_a_cell_by_itself_is_the_trial(tiny, alone):
    assert tiny.sweep({"scale": [0.25]}).total.item() == alone(tiny.trial, tiny.params(scale=0.25))["total"]
    assert tiny.sweep().total.item() == alone(tiny.trial, tiny.params())["total"]  # nothing is swept, seeds neither


def test_draws_depend_on_the_root_and_on_the_seed_alone(tiny):
    data, other = tiny.sweep(OVER, seeds=3), tiny.sweep(OVER, seeds=3, seed=1)
    draws = data.samples - data["shift"]
    np.testing.assert_array_equal(draws.values, np.broadcast_to(draws.values[:1, :1], draws.shape))
    assert len(np.unique(data.total.sel(scale=1, shift=0))) == 3
    assert not (data.total == other.total).any()


def test_one_program_for_each_static_shape(tiny, programs):
    tiny.sweep({"n": [3, 5], "scale": [1.0, 2.0, 3.0]}, seeds=4)
    assert len(programs) == 2
    tiny.sweep({"scale": [4.0, 5.0, 6.0], "n": [5, 3]}, seeds=4, seed=9)  # other numbers, order and root
    assert len(programs) == 2


def test_studies_that_differ_in_numbers_share_a_program(tiny, programs):
    first = ts.sweep(tiny.trial, tiny.params(n=3), {"scale": [1.0, 2.0, 3.0]}, seeds=4, batch=2)
    known = len(programs)
    second = ts.sweep(tiny.trial, tiny.params(n=3, shift=5.0), {"scale": [4.0, 5.0, 6.0]}, seeds=4, batch=2)
    assert len(programs) == known
    np.testing.assert_array_equal(second.samples.values, first.samples.values + 5)


def test_programs_that_differ_are_not_shared(tiny):
    def weighted(values, name):  # a large constant of the program, which its text could leave out
        return lambda p, key: {name: (p.scale * np.asarray(values, np.float32)).sum()}

    numbers = np.arange(2000)
    first = ts.sweep(weighted(numbers, "mass"), tiny.params()).mass.item()
    assert ts.sweep(weighted(numbers + 1, "mass"), tiny.params()).mass.item() == first + 2000
    assert ts.sweep(weighted(numbers, "weight"), tiny.params()).weight.item() == first


def test_programs_that_differ_in_names_are_not_shared(tiny):
    one = ts.sweep(lambda p, key: {"mass": 2 * p.scale - p.shift}, tiny.params(shift=1.0), {"scale": [4.0, 8.0]})
    other = ts.sweep(lambda p, key: {"mass": 2 * p.shift - p.scale}, tiny.params(scale=1.0), {"shift": [4.0, 8.0]})
    assert one.mass.values.ravel().tolist() == other.mass.values.ravel().tolist() == [7, 15]


def test_what_a_trial_calls_may_change(tiny):
    """As in a notebook, where a cell that defines a helper is run again."""
    helper = {"of": lambda scale: 2 * scale}

    def trial(p, key):
        return {"mass": helper["of"](p.scale)}

    assert ts.sweep(trial, tiny.params()).mass.item() == 2
    helper["of"] = lambda scale: 3 * scale
    assert ts.sweep(trial, tiny.params()).mass.item() == 3


@pytest.mark.parametrize("change", ["order", "neighbours", "devices", "rows"])
def test_bits_do_not_depend_on_what_stands_beside(tiny, same, on_devices, change):
    on_devices(2)
    full = tiny.sweep(OVER, seeds=4)
    if change == "order":
        turned = {name: values[::-1] for name, values in reversed(OVER.items())}
        part, other = full, tiny.sweep(turned, seeds=4).sel(OVER).transpose(*full.dims)
    elif change == "neighbours":
        few = {"scale": [2.0], "shift": [1.0, -1.0]}
        part, other = full.sel(few), tiny.sweep(few, seeds=4)
    elif change == "devices":
        on_devices(1)
        part, other = full, tiny.sweep(OVER, seeds=4)
    else:
        part, other = full.isel(seed=[0]), tiny.sweep(OVER, seeds=1)
    same(part, other)


def test_batches_of_a_seed(tiny):
    one, two, many = (tiny.sweep(OVER, seeds=2, batch=batch) for batch in (1, 2, 40))  # more than there are cells
    np.testing.assert_array_equal(one.total, two.total)
    np.testing.assert_array_equal(one.total, many.total)


def test_the_batch_is_chosen_by_the_largest_product_and_the_grid():
    assert [choose_batch(1e3, cells) for cells in (1, 3, 4, 7, 8, 1000)] == [1, 1, 4, 4, 8, 16]
    assert choose_batch(2e6, 1000) == 1
    assert [choose_batch(2e6, cells, 10**6, shared=True) for cells in (2, 20)] == [1, 16]
    assert [choose_batch(1e3, 1000, entries) for entries in (10**3, 10**4, 10**5)] == [16, 4, 1]


@dataclass(frozen=True)
class Wide:
    scale: float = 1.0
    both: bool = False


def wide(p, key):
    """Steps of a large product: one factor is the seed's, or (`both`) scaled by the swept number."""
    matrix = jax.random.normal(key, (300, 300)) / 300
    matrix = p.scale * matrix if p.both else matrix
    return {"total": jax.lax.fori_loop(0, 3, lambda t, x: x @ matrix, p.scale * jnp.ones((40, 300))).sum()}


@pytest.mark.parametrize(("both", "batch"), [(False, 16), (True, 1)])
def test_cells_that_share_a_factor_stand_side_by_side(both, batch):
    data = ts.sweep(wide, Wide(both=both), over={"scale": np.linspace(1, 2, 20)}, seeds=2)
    assert data.attrs["batch"] == batch
    alone = ts.sweep(wide, Wide(both=both), over={"scale": np.linspace(1, 2, 20)}, seeds=2, batch=1)
    np.testing.assert_allclose(data.total, alone.total, rtol=1e-4, atol=1e-4)


def test_only_the_arrays_of_an_innermost_loop_count():
    def trial(x):
        big = jnp.zeros(10**5) + x  # made once, outside of the steps
        return jax.lax.fori_loop(0, 5, lambda t, y: jnp.sum(jnp.ones(300) * y), big[0])

    assert _largest_in_step(jax.jit(trial).trace(jnp.float32(1)).jaxpr) == 300
