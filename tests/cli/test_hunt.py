"""`theorysim hunt` on a toy paper with one true and one wrong bound."""

import json
import sys
from pathlib import Path

import pytest

from theorysim._cli import main

PAPER = '''
"""A toy whose mean size is known."""
from dataclasses import dataclass
import jax, jax.numpy as jnp
import theorysim as ts

@dataclass(frozen=True)
class Params:
    sigma: float = ts.field(1.0, low=0)

def trial(p, key):
    return {"size": jnp.abs(p.sigma * jax.random.normal(key))}

def bound(name, right):
    return ts.theory.Bound(name, "E|x| <= ..", "toy", lambda ds: ds["size"], right)

STUDY = ts.Study({"sigma": [0.5, 1.0, 2.0]}, seeds=8, sources={"sigma": "assumed", "seeds": "assumed"})
EXPERIMENT = ts.Experiment(
    params=Params, trial=trial, presets={"quick": {"sizes": STUDY}},
    claims=[
        ts.Claim.of(bound("true", lambda p: p.sigma), "sizes"),
        ts.Claim.of(bound("wrong", lambda p: p.sigma**0.5), "sizes"),
        ts.Claim("plain", "no bound", "toy", "sizes", lambda ds: ds["size"]),
    ],
)
'''


@pytest.fixture
def toy(tmp_path, monkeypatch, capsys):
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "toy.py").write_text(PAPER)
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["theorysim", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, *capsys.readouterr()

    return call


def test_a_wrong_bound_is_refuted_kept_and_replayed(toy):
    code, out, _ = toy("hunt", "toy", "--claim", "wrong", "--budget", "2s")
    assert code == 1
    assert "wrong: refuted after" in out
    (line,) = Path("results/toy/hunts.jsonl").read_text().splitlines()
    hit = json.loads(line)
    assert hit["refuted"]
    assert hit["margin"] < 0
    replay = next(text.strip() for text in out.splitlines() if "theorysim run" in text)
    assert replay == hit["replay"]
    assert toy(*replay.split()[1:])[0] == 0


def test_a_true_bound_survives(toy):
    code, out, _ = toy("hunt", "toy", "--claim", "true", "--budget", "1s")
    assert code == 0
    assert "true: not refuted" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--claim", "plain"), "claim = plain: states no bound; those that do are true, wrong"),
        (("--claim", "none"), "claim = none: states no bound"),
        (("--budget", "soon"), "budget = soon: must be a positive time"),
        (("--budget", "0s"), "budget = 0s"),
        (("--seed", "x"), "seed = x: must be a whole number"),
    ],
)
def test_bad_input(toy, words, said):
    code, out, err = toy("hunt", "toy", *words)
    assert code == 2
    assert out == ""
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not Path("results").exists()
