"""Studies of an experiment: which run, with which values, and where they are stored."""

from dataclasses import dataclass

import numpy as np
import pytest

import theorysim as ts


@dataclass(frozen=True)
class Params:
    n: int = ts.field(2, low=1)
    scale: float = ts.field(1.0, low=0)
    shift: float = 0.0


def trial(p, key):
    return {"total": p.n * p.scale + p.shift}


MAP = ts.Study(over={"scale": [1.0, 2.0], "shift": [0.0, 1.0, 2.0]}, seeds=2)
CURVE = ts.Study(over={"scale": [3.0, 4.0]}, base={"n": 5, "shift": 10.0}, x64=True)
PAPER = ts.Experiment(Params, trial, {"quick": {"map": MAP, "curve": CURVE}, "paper": {"map": MAP}})


def message(call, *arguments, **more):
    with pytest.raises(ts.InvalidArgument) as caught:
        call(*arguments, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_preset_runs_all_its_studies(tmp_path, same):
    tree = PAPER.run(store=tmp_path / "store")
    assert list(tree.children) == ["map", "curve"]
    assert dict(tree["map"].sizes) == {"scale": 2, "shift": 3, "seed": 2}
    assert tree["curve"].total.values.ravel().tolist() == [25, 30]
    assert (tree["map"].total.dtype, tree["curve"].total.dtype) == (np.float32, np.float64)
    stored = ts.open(tmp_path / "store")
    for name in tree.children:
        same(tree[name].to_dataset(), stored[name].to_dataset())


def test_one_study_and_other_seeds():
    tree = PAPER.run("quick", "curve", seeds=3, x64=True)
    assert list(tree.children) == ["curve"]
    assert dict(tree["curve"].sizes) == {"scale": 2, "seed": 3}
    assert list(PAPER.run("paper").children) == ["map"]


@pytest.mark.parametrize(
    ("study", "changes", "sizes", "totals"),
    [
        (None, {"shift": [5.0, 7.0]}, {"shift": 2, "seed": 2}, [7, 7, 9, 9]),
        (None, {"scale": 4.0}, {"seed": 2}, [8, 8]),
        (None, {"scale": [4.0]}, {"seed": 2}, [8, 8]),
        (None, {"scale": np.array([4.0, 5.0]), "n": 1}, {"scale": 2, "seed": 2}, [4, 4, 5, 5]),
        ("curve", {"n": range(1, 3)}, {"n": 2, "seed": 1}, [11, 12]),
        ("curve", {"shift": [1.0, 2.0]}, {"shift": 2, "seed": 1}, [6, 7]),
    ],
)
def test_set_sweeps_or_replaces_and_drops_the_other_swept_fields(study, changes, sizes, totals):
    data = PAPER.run(study=study, set=changes)
    assert list(data.children) == ["set"]
    assert dict(data["set"].sizes) == sizes
    assert data["set"].total.values.ravel().tolist() == totals


def test_another_set_takes_the_place_of_the_last(tmp_path, ran):
    store = tmp_path / "store"
    PAPER.run("paper", store=store)
    for changes in ({"shift": [5.0, 7.0]}, {"n": [1, 2]}, {"n": [2, 3]}, {"scale": 9.0}, {"scale": 8.0}):
        ran.clear()
        tree = PAPER.run("paper", set=changes, store=store)
        assert ran
        stored = ts.open(store)
        assert set(stored.children) == {"map", "set"}
        np.testing.assert_array_equal(stored["set"].total, tree["set"].total)
        ran.clear()
        PAPER.run("paper", set=changes, store=store)  # the same once more is there
        assert not ran
    assert dict(stored["map"].sizes) == {"scale": 2, "shift": 3, "seed": 2}


def test_another_study_does_not(tmp_path):
    PAPER.run("quick", "curve", store=tmp_path / "store")
    other = ts.Experiment(Params, trial, {"quick": {"curve": MAP}})
    with pytest.raises(ts.Refused, match=r"curve in .* was made with other settings"):
        other.run(store=tmp_path / "store")
    other.run(store=tmp_path / "store", fresh=True)
    assert set(ts.open(tmp_path / "store")["curve"].sizes) == {"scale", "shift", "seed"}


def test_what_is_unknown_is_named():
    assert message(PAPER.run, "quik") == "preset = quik: unknown; there are quick, paper"
    assert message(PAPER.run, "quick", "mpa") == "study = mpa: unknown; quick has map, curve"
    assert message(PAPER.run, set={"signl": 1.0}).startswith("field = signl: unknown; the fields are n, scale, shift")
    assert message(PAPER.run, set={"scale": -1.0}) == "scale = -1.0: must be a finite number >= 0"
    assert message(PAPER.run, executor="cloud").startswith("executor = cloud: must be local")
    assert message(PAPER.run, seeds=0) == "seeds = 0: must be a whole number >= 1"
    assert message(PAPER.run, seed=-1) == "seed = -1: must be a whole number in [0, 2^32)"
    assert message(PAPER.run, batch=0) == "batch = 0: must be a whole number >= 1"


def test_nothing_is_written_for_a_bad_argument(tmp_path):
    for more in ({"set": {"scale": -1.0}}, {"seeds": 0}, {"seed": -1}, {"executor": "cloud"}, {"batch": 0}):
        message(PAPER.run, store=tmp_path / "new" / "store", **more)
    assert not list(tmp_path.iterdir())


def test_a_file_that_names_what_is_not_there():
    claim = ts.Claim("c", "s", "s", "mpa", lambda data: data.total)
    assert "study of c = mpa: unknown; there are map" in message(ts.Experiment, Params, trial, {"quick": {"map": MAP}}, [claim])
    for study in (ts.Study(over={"signl": [1]}), ts.Study(base={"signl": 1})):
        assert "field of quick/map = signl: unknown" in message(ts.Experiment, Params, trial, {"quick": {"map": study}})
    assert "source of n = heard: must begin with found" in message(ts.Study, sources={"n": "heard"})
    assert "n = 1: is swept in this study" in message(ts.Study, over={"n": [1]}, base={"n": 1})


@pytest.mark.parametrize("count", ["0", "-1", "two", "1.5"])
def test_devices_asked_for_by_a_bad_number(monkeypatch, count):
    monkeypatch.setenv("THEORYSIM_DEVICES", count)
    assert message(PAPER.run) == f"THEORYSIM_DEVICES = {count}: must be a whole number >= 1"
