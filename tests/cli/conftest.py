"""A working folder with a paper of a few operations, and the command line called inside this process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from theorysim import _find
from theorysim._cli import main

PAPER = '''"""A toy: draws around a level."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax

import theorysim as ts


@dataclass(frozen=True)
class Params:
    n: int = ts.field(4, low=1)
    rule: str = ts.field("none", choices=("none", "shape", "adam", "sign_sgd"))
    frame: str = "reduced"
    dim: float = ts.field(10.0, low=2, whole=True)
    flip: float = ts.field(0.1, low=0, high=0.5)
    signal: float = ts.field(1.0, low=0)


def trial(p, key):
    draw = (jax.random.key_data(key) >> 20).sum() / 4096 - 1  # a few digits of two uniform numbers
    if p.rule == "shape":
        draw = jnp.zeros(p.dim).sum()
    elif p.rule != "none":
        space = ts.exact.frame(key, p.dim, fixed=1, kind=p.frame, train=p.n, filters=2)
        train = ts.laws.SignalNoise(signal=p.signal, flip=p.flip)(key, space.train)
        loss = ts.objectives.logistic(train)
        rule = ts.dynamics.gradient_descent(loss, getattr(optax, p.rule)(0.1))
        model = ts.models.TwoLayerCNN(space.filters)
        observe = lambda state: {"draw": loss(state.model, None)}
        draw = ts.simulate(rule, model, frame=space, key=key, times=2, observe=observe).records["draw"]
    return {"total": p.signal + draw / 100, "draw": draw}


PRESETS = {
    "quick": {"map": ts.Study(over={"signal": [1.0, 2.0]}, seeds=20), "curve": ts.Study(seeds=20)},
    "paper": {"map": ts.Study(over={"signal": [1.0, 2.0, 3.0]}, seeds=20)},
}
BY_HAND = "by hand"
CLAIMS = [
    ts.Claim("above", "the total is above 1/2", BY_HAND, "map", lambda data: data.total - 0.5, EXPECTED),
    ts.Claim("below", "the total is below 0", "control", "map", lambda data: -data.total, "fails"),
    ts.Claim("outside", "the total is above 1/2", BY_HAND, "curve", lambda data: data.total - 0.5, "not applicable",
             regime=lambda data: {"signal >= 3": 1.0 - 3.0}),
    ts.Claim("level", "the draws are above 0", BY_HAND, "curve", lambda data: data.draw, "undecided"),
]
EXPERIMENT = ts.Experiment(params=Params, trial=trial, presets=PRESETS, claims=CLAIMS)
'''

DRAWING = """import theorysim as ts

GALLERY = ("totals",)


def draw(data):
    figures = {}
    for name in ("totals", "again"):
        figures[name], ((axes,),) = ts.plotting.canvas()
        ts.plotting.band(axes, data["map"].to_dataset().total, "signal", "total")
        axes.set(xlabel="signal", ylabel="total")
    return figures
"""


class Said(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def paper(expected: str = "holds") -> str:
    """The text of the paper; `expected` is the verdict expected of its first claim."""
    return PAPER.replace("EXPECTED)", repr(expected) + ")")


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    """The folder to work in, where `toy` is the only paper."""
    monkeypatch.delenv("THEORYSIM_EXPERIMENTS", raising=False)
    monkeypatch.setenv("THEORYSIM_DEVICES", "2")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(_find, "CHECKOUT", tmp_path)
    monkeypatch.chdir(tmp_path)
    for folder, text in (("experiments", paper()), ("figures", DRAWING)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "toy.py").write_text(text)
    return tmp_path


@pytest.fixture
def theorysim(work, monkeypatch, capfd):
    """Run a command: `theorysim("run", "toy")`."""

    def call(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["theorysim", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Said(int(ended.value.code or 0), *capfd.readouterr())

    return call


@pytest.fixture
def text_of():
    """The text of the paper, given the verdict expected of its first claim."""
    return paper


@pytest.fixture
def drawing() -> str:
    """The text of the drawing file."""
    return DRAWING


@pytest.fixture
def contents(work):
    """Every file and folder below the working folder, with its bytes."""
    return lambda: {path: path.read_bytes() if path.is_file() else None for path in sorted(work.rglob("*"))}
