"""Damage to a store: found by readers, redone by the next run with the same bits, and refused where it cannot be."""

import os
import shutil
from functools import partial

import pytest

import theorysim as ts
from theorysim._sweep.manifest import Manifest
from theorysim._sweep.store import Store, StoredPart

OVER, SEEDS, CHUNK = {"scale": [1.0, 2.0, 4.0]}, 4, 4


@pytest.fixture
def store(tmp_path, tiny, chunks_of):
    """A store of three chunks of four cells."""
    chunks_of(CHUNK)
    tiny.sweep(OVER, seeds=SEEDS, store=tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def again(tiny, store, whole, ran):
    """Run the sweep of `store` once more; `ran` counts the cells of that run."""
    ran.clear()
    return partial(tiny.sweep, OVER, store=store)


@pytest.fixture
def whole(tiny):
    return tiny.sweep(OVER, seeds=SEEDS)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


def swap(path):
    """A sound file with the values of another chunk: Zarr's own checksum does not see it."""
    shutil.copyfile(str(path).replace("/c/1", "/c/0"), path)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("output", ["total", "samples", "status"])
@pytest.mark.parametrize("damage", [flip, os.unlink, truncate, swap])
def test_a_damaged_chunk(store, again, whole, same, ran, output, damage):
    folder = store / "sweep" / output / "c"
    damage(folder / "1" / "0" if output == "samples" else folder / "1")
    if output == "status" and damage is swap:  # all cells are fine there, so the files are equal
        flip(folder / "1")
    with pytest.raises(ts.Refused, match=f"store {store}: chunk 1 of sweep is damaged; run the command again"):
        ts.open(store)
    same(whole, again(seeds=SEEDS))
    assert CHUNK <= sum(ran) < CHUNK + 3  # its cells, and those that share a batch with them
    same(whole, ts.open(store)["sweep"].to_dataset())


def test_a_damaged_chunk_of_which_few_cells_are_asked(store, again, whole, same, chunk_files):
    flip(chunk_files(store)[1])
    same(whole.isel(seed=slice(2)), again(seeds=2))  # two of its four cells
    left = ts.open(store)["sweep"].to_dataset()
    assert int((left.status == 0).sum()) == 2  # what was lost is not taken for a result
    same(whole, again(seeds=SEEDS))


def test_a_damaged_chunk_when_seeds_are_added(store, again, tiny, same, chunk_files):
    flip(chunk_files(store)[2])
    more = again(seeds=SEEDS + 3)
    same(tiny.sweep(OVER, seeds=SEEDS + 3), more)
    same(more, ts.open(store)["sweep"].to_dataset())


def test_a_chunk_that_is_not_listed_is_no_result(store, again, whole, same, chunk_files, ran):
    manifest = store / "manifest.jsonl"
    manifest.write_bytes(b"".join(manifest.read_bytes().splitlines(keepends=True)[:-1]))
    flip(chunk_files(store)[2])  # as if the machine had stopped in the middle of it
    seen = ts.open(store)["sweep"].to_dataset()
    assert int((seen.status == 0).sum()) == CHUNK
    assert int(seen.total.isnull().sum()) == CHUNK
    same(whole, again(seeds=SEEDS))
    assert CHUNK <= sum(ran) < CHUNK + 3


@pytest.mark.parametrize("cut", [1, 9, 30])
def test_a_torn_line_is_ignored_and_healed(store, again, whole, same, ran, cut):
    manifest = Manifest(store / "manifest.jsonl")
    sound, lines = manifest.path.read_bytes(), manifest.read()
    manifest.path.write_bytes(sound[:-cut])
    left = lines if cut == 1 else lines[:-1]  # without its end the line is still whole
    assert manifest.read() == left
    more = again(seeds=SEEDS + 4)
    assert manifest.path.read_bytes().startswith(sound[:-cut] + b"\n")
    assert manifest.read()[: len(left)] == left
    assert len(manifest.read()) == len(lines) + 3
    assert sum(ran) < 12 + CHUNK + 3
    same(more, ts.open(store)["sweep"].to_dataset())
    same(whole, more.isel(seed=slice(SEEDS)))


def test_the_manifest_is_append_only_with_a_checksum_in_each_line(store, again, tmp_path):
    manifest = store / "manifest.jsonl"
    before = manifest.read_bytes()
    again(seeds=SEEDS + 4)
    assert manifest.read_bytes().startswith(before)
    assert len(manifest.read_bytes()) > len(before)
    lines = before.splitlines()
    for place, line in enumerate(lines):
        flipped = bytearray(line)
        flipped[len(line) // 3] ^= 1
        manifest.write_bytes(b"\n".join([*lines[:place], bytes(flipped), *lines[place + 1 :], b""]))
        assert len(Manifest(manifest).read()) == len(lines) - 1


def test_a_line_is_added_after_a_torn_one(tmp_path):
    manifest = Manifest(tmp_path / "manifest.jsonl")
    assert manifest.read() == []
    manifest.append({"chunk": 0})
    with manifest.path.open("ab") as out:
        out.write(b'{"chunk": 1')
    manifest.append({"chunk": 2})
    assert manifest.read() == [{"chunk": 0}, {"chunk": 2}]


@pytest.mark.parametrize("place", ["group", "outputs", "coordinates", "attributes"])
def test_a_crash_while_a_study_is_made_anew(store, again, whole, same, monkeypatch, place):
    """With `fresh`, the old study is listed in the manifest and the new one is half made."""
    import zarr

    def crash(*args, **more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if place == "group":
            patch.setattr(Store, "make", crash)
        elif place == "outputs":
            patch.setattr(zarr.Group, "create_array", crash)
        elif place == "coordinates":
            patch.setattr(Store, "write_coordinates", crash)
        else:
            patch.setattr(Manifest, "append", lambda self, line: crash() if line.get("made") else None)
        with pytest.raises(KeyboardInterrupt):
            again(seeds=SEEDS, fresh=True)
    if place != "attributes":
        assert not ts.open(store).children
    same(whole, again(seeds=SEEDS))
    same(whole, ts.open(store)["sweep"].to_dataset())


@pytest.mark.parametrize("place", ["coordinates", "attributes"])
def test_a_crash_while_seeds_are_added(store, again, tiny, whole, same, monkeypatch, place):
    with monkeypatch.context() as patch:
        if place == "coordinates":
            patch.setattr(Store, "write_coordinates", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        else:
            patch.setattr(StoredPart, "write", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            again(seeds=SEEDS + 4)
    seen = ts.open(store)["sweep"].to_dataset()
    same(whole, seen.isel(seed=slice(SEEDS)))
    assert (seen.status.isel(seed=slice(SEEDS, None)) == 0).all()
    same(tiny.sweep(OVER, seeds=SEEDS + 4), again(seeds=SEEDS + 4))


def test_a_second_writer_is_refused_by_name(store, again, whole, same):
    first = Store(store, write=True)
    try:
        with pytest.raises(ts.Refused) as caught:
            again(seeds=SEEDS)
        assert str(caught.value).startswith(f"store {store} is being written by process {os.getpid()} on ")
        assert "\n" not in str(caught.value)
        same(whole, ts.open(store)["sweep"].to_dataset())  # readers need no turn
    finally:
        first.close()
    same(whole, again(seeds=SEEDS))
