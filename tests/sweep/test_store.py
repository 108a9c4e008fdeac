"""A store: what is written is what is read, cells are run once, and another sweep is refused in one line."""

import json
from functools import partial

import numpy as np
import pytest
import zarr

import theorysim as ts
from theorysim._sweep.store import Store

OVER = {"scale": [1.0, 2.0, 4.0], "shift": [0.0, 0.5]}


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def stored(tiny, store):
    """The sweep of this file with its store."""
    return partial(tiny.sweep, OVER, store=store)


def refuses(call, *words, error=ts.Refused, **more):
    with pytest.raises(error) as caught:
        call(**more)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_round_trip(stored, store, tiny, same, chunks_of):
    chunks_of(4)
    data = stored(seeds=3)
    tree = ts.open(store)
    assert list(tree.children) == ["sweep"]
    assert tree.name == "store"
    same(data, tree["sweep"].to_dataset())
    same(data, tiny.sweep(OVER, seeds=3))
    kept = tree["sweep"].attrs
    assert {name: kept[name] for name in ("params", "versions", "root_seed", "batch", "dtype", "key", "seeds")} == {
        name: data.attrs[name] for name in ("params", "versions", "root_seed", "batch", "dtype", "key", "seeds")
    }
    assert kept["compile_seconds"] > 0


def test_the_raw_store_is_plain_zarr(stored, store, chunks_of):
    chunks_of(4)
    data = stored(seeds=2)
    raw = zarr.open_group(store, mode="r")["sweep"]
    assert raw["seed"][:].tolist() == [0] * 6 + [1] * 6
    np.testing.assert_array_equal(raw["cell_scale"][:], np.tile([1, 1, 2, 2, 4, 4], 2))
    np.testing.assert_array_equal(raw["cell_shift"][:], np.tile([0, 0.5], 6))
    np.testing.assert_array_equal(raw["total"][:], data.total.transpose("seed", "scale", "shift").values.ravel())
    assert raw["samples"].metadata.dimension_names == ("cell", "sample")
    assert raw["samples"].chunks == (4, 3)
    assert "crc32c" in json.dumps(raw["samples"].metadata.to_dict()["codecs"], default=str)


def test_what_is_stored_is_not_run_again(stored, same, ran, programs):
    first = stored(seeds=2)
    ran.clear()
    programs.clear()
    same(first, stored(seeds=2))
    assert not ran
    assert not programs


def test_more_seeds_append(stored, store, tiny, same, ran):
    stored(seeds=2)
    ran.clear()
    more = stored(seeds=5)
    assert sum(ran) == 3 * 6
    same(more, tiny.sweep(OVER, seeds=5))
    same(more, ts.open(store)["sweep"].to_dataset())
    assert zarr.open_group(store, mode="r")["sweep/seed"][:].tolist() == np.repeat(range(5), 6).tolist()


def test_fewer_seeds_than_stored(stored, store, same, ran):
    full = stored(seeds=4)
    ran.clear()
    same(full.isel(seed=slice(2)), stored(seeds=2))
    assert not ran
    same(full, ts.open(store)["sweep"].to_dataset())  # the others are still there


def test_the_stored_batch_is_kept(tiny, store):
    assert tiny.sweep(OVER, store=store, batch=1).attrs["batch"] == 1
    assert tiny.sweep(OVER, store=store, seeds=2, batch=None).attrs["batch"] == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"over": OVER | {"scale": [1.0, 3.0]}}, ["the grid differs"]),
        ({"over": {name: OVER[name] for name in reversed(OVER)}}, ["the grid differs"]),
        ({"over": OVER | {"n": [1, 2]}}, ["the grid differs", "it holds sweep"]),
        ({"params": {"n": 3}}, ["a parameter differs", "{'n': 2} there, {'n': 3} now"]),
        ({"seed": 1}, ["the root seed differs", "0 there, 1 now"]),
        ({"x64": True}, ["the precision differs", "float32 there, float64 now"]),
        ({"batch": 1}, ["the batch differs", "2 there, 1 now"]),
        ({"trial": lambda p, key: {"total": p.scale}}, ["the program", "differs"]),
    ],
)
def test_another_sweep_is_refused(stored, store, tiny, same, change, words):
    before = stored()
    arguments = {"over": OVER, "batch": 2, "store": store} | change
    params = tiny.params(**arguments.pop("params", {}))
    call = partial(ts.sweep, arguments.pop("trial", tiny.trial), params, **arguments)
    refuses(call, f"sweep in {store} was made with other settings", *words, "--fresh")
    same(before, ts.open(store)["sweep"].to_dataset())
    other = call(fresh=True)
    same(other, ts.open(store)["sweep"].to_dataset())


def test_other_values_of_a_static_field_are_another_grid(tiny, store):
    tiny.sweep({"n": [1, 2]}, store=store)
    refuses(partial(tiny.sweep, {"n": [3, 4]}, store=store), "the grid differs", "it holds sweep/n=1")
    refuses(partial(tiny.sweep, {"n": [1, 2, 3]}, store=store), "the grid differs")
    refuses(partial(tiny.sweep, {"scale": [1.0]}, store=store), "the grid differs")


def test_fresh_drops_its_own_study_only(tiny, store, same, ran):
    kept = tiny.sweep({"n": [1, 2]}, store=store, group="kept")
    tiny.sweep({"n": [1, 2]}, store=store, group="keptalso")
    tiny.sweep({"n": [1, 2]}, store=store, group="other")
    ran.clear()
    tiny.sweep({"n": [2, 3]}, store=store, group="other", fresh=True)
    assert sum(ran) == 2
    tree = ts.open(store)
    assert set(tree.children) == {"kept", "keptalso", "other"}
    same(kept, tree["kept"].to_dataset())
    assert tree["other"].n.values.tolist() == [2, 3]


def test_part_of_a_sweep_is_open_to_readers(tiny, store, same, monkeypatch):
    full = tiny.sweep({"n": [1, 2], "scale": [1.0, 2.0]}, seeds=2)
    make, made = Store.make, []

    def second_fails(self, name, *more):
        if made:
            raise KeyboardInterrupt
        made.append(name)
        return make(self, name, *more)

    monkeypatch.setattr(Store, "make", second_fails)
    with pytest.raises(KeyboardInterrupt):
        tiny.sweep({"n": [1, 2], "scale": [1.0, 2.0]}, seeds=2, store=store)
    seen = ts.open(store)["sweep"].to_dataset()
    same(full.sel(n=[1]), seen.sel(n=[1]))
    assert (seen.status.sel(n=2) == 0).all()
    assert seen.total.sel(n=2).isnull().all()


def test_places_that_are_no_store(tiny, tmp_path):
    file, folder, foreign = tmp_path / "file", tmp_path / "folder", tmp_path / "foreign"
    file.write_text("mine")
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    zarr.open_group(foreign, mode="w").create_array("mine", shape=(2,), dtype="f4")
    for fresh in (False, True):
        call = partial(tiny.sweep, fresh=fresh)
        refuses(partial(call, store=file), f"store = {file}", "is a file", error=ts.InvalidArgument)
        refuses(partial(call, store=file / "below"), f"store = {file / 'below'}", "cannot be written", error=ts.InvalidArgument)
        refuses(partial(call, store=folder), f"store = {folder}", "other things in it", error=ts.InvalidArgument)
        refuses(partial(call, store=foreign), f"store = {foreign}", "other things in it", error=ts.InvalidArgument)
    assert file.read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert {path.name for path in foreign.iterdir()} == {"zarr.json", "mine"}
    refuses(partial(ts.open, file), "is a file", error=ts.InvalidArgument)
    refuses(partial(ts.open, folder), "is no store", error=ts.InvalidArgument)
    refuses(partial(ts.open, tmp_path / "none"), "does not exist", error=ts.InvalidArgument)
    assert not (tmp_path / "none").exists()


def test_what_a_crash_leaves_first_is_taken_over(tiny, store):
    store.mkdir()
    (store / ".lock").write_text("process 1 on nowhere")
    (store / "zarr.0123.partial").write_text("{")
    assert tiny.sweep(store=store).status.item() == 1


@pytest.mark.parametrize("group", ["", "a/b", "..", ".hidden"])
def test_a_group_is_one_folder(tiny, store, group):
    refuses(partial(tiny.sweep, store=store, group=group), f"group = {group or chr(39) * 2}", error=ts.InvalidArgument)
    assert not store.exists()


@pytest.mark.parametrize(
    ("budget", "error", "words"),
    [
        ("1K", ts.Refused, ["the results of 600 cells needs 9.38 KiB", "budget is 1 KiB", "or raise THEORYSIM_MEMORY"]),
        ("much", ts.InvalidArgument, ["THEORYSIM_MEMORY = much", "500M or 8G"]),
    ],
)
def test_memory(stored, store, monkeypatch, budget, error, words):
    monkeypatch.setenv("THEORYSIM_MEMORY", budget)
    refuses(stored, *words, error=error, seeds=100)
    assert not store.exists()
    monkeypatch.setenv("THEORYSIM_MEMORY", "1.5GiB")
    assert stored().status.all()
