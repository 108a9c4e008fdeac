"""The Dataset of a sweep: dimensions, types, labels, what it says of itself, and cells that are not finite."""

import json
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import theorysim as ts
from theorysim._sweep.progress import Reporter


def test_dimensions_in_the_order_of_the_sweep_then_seed_then_the_outputs(tiny):
    data = tiny.sweep({"shift": [1.0, -1.0], "n": [3, 1, 2], "scale": [2.0]}, seeds=2)
    assert data.total.dims == data.status.dims == ("shift", "n", "scale", "seed")
    assert data.samples.dims == ("shift", "n", "scale", "seed", "sample")
    assert data.total.dtype == data.samples.dtype == np.float32
    assert data.status.dtype == np.int8
    labels = {"shift": [1, -1], "n": [3, 1, 2], "scale": [2], "seed": [0, 1], "sample": [10, 20, 30]}
    assert {name: data[name].values.tolist() for name in data.coords} == labels


def test_each_cell_is_where_its_labels_say(tiny):
    over = {"shift": [1.0, -1.0], "n": [3, 1], "scale": [2.0, 4.0]}
    data = tiny.sweep(over, seeds=2)
    draw = tiny.sweep(seeds=2).samples.sel(sample=10).values / 2
    for index in np.ndindex(data.status.shape):
        cell = data.isel(dict(zip(data.status.dims, index, strict=True)))
        assert cell.samples[0].item() == cell.n * draw[cell.seed] + cell["shift"]


def test_time_is_a_coordinate_and_types_are_kept():
    def trial(p, key):
        loss = ts.named(p.lr * jnp.arange(3.0), "time", time=[0, 5, 50])
        return {"loss": loss, "count": jnp.int32(3), "flag": p.lr > 1, "grid": ts.named(jnp.ones((3, 2)), "time", "filter")}

    @dataclass(frozen=True)
    class Params:
        lr: float = 1.0

    data = ts.sweep(trial, Params(), {"lr": [1.0, 2.0]})
    assert data.loss.dims == ("lr", "seed", "time")
    assert data.time.values.tolist() == [0, 5, 50]
    assert data.grid.dims == ("lr", "seed", "time", "filter")
    assert (data["count"].dtype, data.flag.dtype) == (np.int32, np.bool_)
    assert data.flag.values.ravel().tolist() == [False, True]


def test_attributes_say_what_was_run(tiny):
    attrs = tiny.sweep({"scale": [1.0, 2.0]}, seeds=2, seed=5).attrs
    assert json.loads(attrs["params"]) == {"n": 2, "kind": "sum", "scale": 1.0, "shift": 0.0}
    assert {"theorysim", "jax", "jaxlib", "numpy", "python"} <= set(json.loads(attrs["versions"]))
    assert (attrs["dtype"], attrs["root_seed"], attrs["batch"], attrs["seeds"]) == ("float32", 5, 2, 2)
    assert "threefry2x32" in attrs["prng"]
    assert {"device", "commit", "written", "compile_seconds", "run_seconds", "key"} <= set(attrs)


@dataclass(frozen=True)
class Framed:
    frame: str = "reduced"
    dim: float = ts.field(3.0, low=2, whole=True)
    widths: tuple[int, ...] = (1, 2)
    text: str = "a"
    on: bool = True
    ratio: ts.Static[float] = 1.0
    count: ts.Traced[int] = 1


def shaped(p, key):
    size = jnp.zeros(int(p.dim)).size if p.frame == "ambient" else p.dim
    return {"size": size * jnp.ones(p.widths).sum() * p.count * p.ratio + 0.5 * p.on + len(p.text)}


def test_in_an_ambient_frame_the_dimension_is_static():
    over = {"dim": [2.0, 4.0], "count": [1, 3]}
    reduced, ambient = (ts.sweep(shaped, Framed(frame=frame), over) for frame in ("reduced", "ambient"))
    assert reduced["size"].values.tolist() == ambient["size"].values.tolist()
    assert reduced["size"].dims == ambient["size"].dims == ("dim", "count", "seed")


@pytest.mark.parametrize(
    ("name", "values", "labels", "sizes"),
    [
        ("widths", [(1, 2), (3, 4)], ["(1, 2)", "(3, 4)"], [7.5, 37.5]),
        ("text", ["a/b", "..", "c"], ["a/b", "..", "c"], [9.5, 8.5, 7.5]),
        ("on", [False, True], [False, True], [7.0, 7.5]),
        ("ratio", [0.5, 2.0], [0.5, 2.0], [4.5, 13.5]),
    ],
)
def test_static_fields_of_every_kind_can_be_swept_and_stored(tmp_path, same, name, values, labels, sizes):
    data = ts.sweep(shaped, Framed(), {name: values}, store=tmp_path / "store")
    assert data[name].values.tolist() == labels
    assert data["size"].values.ravel().tolist() == sizes
    same(data, ts.open(tmp_path / "store")["sweep"].to_dataset())


def test_a_cell_that_diverges_is_counted_and_stops_nothing(tiny, monkeypatch):
    said = []
    monkeypatch.setattr(Reporter, "__exit__", lambda self, *error: said.append(self.summary()))
    data = tiny.sweep({"scale": [1.0, 13.0, 2.0]}, seeds=2)
    assert data.status.values.tolist() == [[1, 1], [2, 2], [1, 1]]
    assert np.isinf(data.total.sel(scale=13)).all()
    assert np.isfinite(data.samples).all()
    assert "6 cells" in said[0]
    assert said[0].endswith("2 non-finite")


def test_float64_has_its_own_type_and_draws():
    import jax

    @dataclass(frozen=True)
    class Params:
        scale: float = 1.0

    def trial(p, key):
        return {"draw": p.scale * jax.random.normal(key)}

    single, double = (ts.sweep(trial, Params(), {"scale": [1 / 3]}, x64=x64) for x64 in (False, True))
    assert (single.draw.dtype, double.draw.dtype) == (np.float32, np.float64)
    assert abs(single.draw.item() - double.draw.item()) > 1e-6
    assert double.scale.item() == single.scale.item() == 1 / 3  # labels keep what was asked for
    assert double.attrs["dtype"] == "float64"
    assert not jax.config.jax_enable_x64
