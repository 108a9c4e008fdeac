"""A sweep in another process, killed at random moments: the next run goes on from the finished chunks, to the same bits."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

import theorysim as ts
from theorysim._sweep import runner
from theorysim._sweep.manifest import Manifest

PAPER = """
from dataclasses import dataclass
import jax, numpy as np, theorysim as ts

@dataclass(frozen=True)
class Params:
    scale: float = 1.0

def trial(p, key):
    draw = jax.random.key_data(key) * 2.0**-32
    return {"total": p.scale * draw.sum(), "samples": ts.named(p.scale * draw[0] * np.arange(3.0), "sample")}

STUDY = ts.Study(over={"scale": np.arange(1.0, 41.0)}, seeds=60)
EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets={"quick": {"map": STUDY}})
"""
PER_SEED, CHUNK = 40, 8
BYTES = 12 * CHUNK  # `samples` takes 12 bytes a cell
CHILD = """
import sys, theorysim as ts
from theorysim._sweep import runner
runner.CHUNK_BYTES = {bytes}
ts.load(sys.argv[1]).run(store=sys.argv[2], seeds=int(sys.argv[3]), batch=2)
"""


@pytest.fixture
def paper(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "CHUNK_BYTES", BYTES)
    (tmp_path / "paper.py").write_text(PAPER)
    return ts.load(tmp_path / "paper.py")


def chunks(store):
    """The numbers of the chunks that the manifest lists, as often as it lists them."""
    return [line["chunk"] for line in Manifest(store / "manifest.jsonl").read() if "chunk" in line]


@contextmanager
def writer(paper, store, seeds):
    """A process that runs the paper; it is killed at the end."""
    arguments = [sys.executable, "-c", CHILD.format(bytes=BYTES), str(paper.path), str(store), str(seeds)]
    environment = os.environ | {"THEORYSIM_CACHE": "", "THEORYSIM_DEVICES": "2"}
    process = subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(process, store, count):
    """Wait until so many chunks are listed."""
    end = time.monotonic() + 120
    while len(chunks(store)) < count:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize(("kills", "seeds"), [(1, 15), pytest.param(3, 60, marks=pytest.mark.faults)])
def test_killed(paper, tmp_path, same, ran, kills, seeds):
    store, cells, moments = tmp_path / "store", PER_SEED * seeds, random.Random(kills)
    for _ in range(kills):
        with writer(paper, store, seeds) as process:
            wait_for(process, store, len(chunks(store)) + moments.randint(1, seeds))
            time.sleep(moments.uniform(0, 0.02))
            process.send_signal(signal.SIGSTOP)  # it holds the store, and gets no further
            with pytest.raises(ts.Refused, match=f"is being written by process {process.pid} on "):
                paper.run(store=store, seeds=seeds)
            process.kill()
            assert process.wait() == -signal.SIGKILL
    done = chunks(store)
    assert kills <= len(done) < cells / CHUNK
    seen = ts.open(store)["map"].to_dataset()
    assert int((seen.status == 1).sum()) == CHUNK * len(done)
    resumed = paper.run(store=store, seeds=seeds)["map"].to_dataset()
    assert sum(ran) <= cells - CHUNK * len(done) + 2
    assert sorted(chunks(store)) == list(range(cells // CHUNK))  # each was written once, in one of the runs
    whole = paper.run(seeds=seeds, batch=2)["map"].to_dataset()
    same(whole, resumed)
    same(whole, ts.open(store)["map"].to_dataset())
    np.testing.assert_array_equal(seen.total, whole.total.where(seen.status == 1))


@pytest.mark.faults
def test_much_damage_at_once(paper, tmp_path, same):
    store, places = tmp_path / "store", random.Random(0)
    whole = paper.run(store=store, batch=2)["map"].to_dataset()
    files = [path for path in (store / "map").rglob("c/**/*") if path.is_file() and "cell_" not in str(path)]
    for path in places.sample(files, 60):
        data = bytearray(path.read_bytes())
        data[places.randrange(len(data))] ^= 1 << places.randrange(8)
        path.write_bytes(bytes(data))
    for path in places.sample(files, 20):
        path.unlink()
    manifest = store / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes()[: -places.randrange(20, 900)])
    with pytest.raises(ts.Refused, match="is damaged"):
        ts.open(store)
    same(whole, paper.run(store=store)["map"].to_dataset())
    same(whole, ts.open(store)["map"].to_dataset())


@pytest.mark.faults
def test_two_writers(paper, tmp_path, same):
    store, seeds = tmp_path / "store", 30
    with writer(paper, store, seeds) as first:
        wait_for(first, store, 1)
        first.send_signal(signal.SIGSTOP)
        with writer(paper, store, seeds) as second:
            assert second.wait(timeout=120) == 1
            assert f"is being written by process {first.pid} on " in second.stderr.read().splitlines()[-1]
        first.send_signal(signal.SIGCONT)
        assert first.wait(timeout=120) == 0
    same(paper.run(seeds=seeds, batch=2)["map"].to_dataset(), ts.open(store)["map"].to_dataset())
