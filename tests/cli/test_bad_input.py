"""Every mistake is told in one line, with exit code 2; nothing is written."""

from __future__ import annotations

import pytest

FLIP = "flip = {}: must be a number in [0, 0.5]"
N, DIM = "n = {}: must be a finite whole number >= 1", "dim = {}: must be a finite whole number >= 2"
SEED = "seed = {}: must be a whole number in [0, 2^32)"

#: what follows `theorysim run toy`, and what is said of it
SETTINGS = [
    ("--preset huge", "preset = huge: unknown; there are"),
    ("--study cut", "study = cut: unknown; quick has map, curve"),
    ("--preset paper --study curve", "study = curve: unknown; paper has map"),
    ("--executor moon", "executor = moon: must be local"),
    ("--set heat=1", "field = heat: unknown; toy has n, rule, frame, dim, flip, signal"),
    ("--set =1", "field = '': unknown"),
    ("--set signal", "set = signal: must be FIELD=VALUES"),
    ("--set flip=often", FLIP.format("often")),
    ("--set n=many", N.format("many")),
    ("--set flip=0.6", FLIP.format("0.6")),
    ("--set flip=-0.1", FLIP.format("-0.1")),
    ("--set flip=nan", FLIP.format("nan")),
    ("--set flip=NaN,0.1", FLIP.format("nan")),
    ("--set n=0", N.format("0")),
    ("--set n=2.5", N.format("2.5")),
    ("--set dim=1", DIM.format("1")),
    ("--set dim=2.5", DIM.format("2.5")),
    ("--set dim=inf", DIM.format("inf")),
    ("--set signal=", "signal = '': must be a finite number >= 0"),
    ("--set signal=1,,2", "signal = '': must be a finite number >= 0"),
    ("--set signal=1,1", "signal = [1, 1]: a grid holds each value once"),
    ("--set signal=lin:0:8:0", "signal = lin:0:8:0: a grid is lin:FROM:TO:COUNT"),
    ("--set signal=log:0:8:3", "signal = log:0:8:3: a log grid needs both ends > 0"),
    ("--set frame=curved", "frame = curved: must be one of reduced, ambient"),
    ("--set signal=3 --set flip=0.9", FLIP.format("0.9")),
    ("--seeds 0", "seeds = 0: must be a whole number >= 1"),
    ("--seeds -1", "seeds = -1: must be a whole number >= 1"),
    ("--seeds 1.5", "seeds = 1.5: must be a whole number"),
    ("--seeds abc", "seeds = abc: must be a whole number"),
    ("--seed -1", SEED.format("-1")),
    ("--seed 4294967296", SEED.format("4294967296")),
    ("--seed 0.5", "seed = 0.5: must be a whole number"),
    ("--store experiments/toy.py", "store = experiments/toy.py: is a file; a store is a folder"),
    ("--store experiments", "store = experiments: is a folder with other things in it"),
    ("--store experiments/toy.py/deeper", "store = experiments/toy.py/deeper: cannot be written"),
    ("--set rule=shape", "dim"),
    ("--set rule=adam", "reduced frame: the transformation does not commute with rotations"),
    ("--set rule=sign_sgd", "reduced frame: the transformation does not commute with rotations"),
    ("--no-such-option", "No such option: --no-such-option"),
    ("--set", "requires an argument"),
    ("surplus", "unexpected extra argument"),
]
COMMANDS = [
    ("run", "Missing argument"),
    ("show", "Missing argument"),
    ("walk", "No such command 'walk'"),
    ("run yot", "experiment = yot: unknown; there are toy"),
    ("verify yot", "experiment = yot: unknown; there are toy"),
    ("figure yot", "experiment = yot: unknown; there are toy"),
    ("run missing.py", "experiment = missing.py: there is no such file"),
    ("run experiments", "experiment = experiments: unknown"),
    ("run figures/toy.py", "experiment = figures/toy.py: does not define EXPERIMENT"),
    ("verify toy --preset huge", "preset = huge: unknown; there are"),
    ("verify --preset huge", "preset = huge: unknown; there are"),
    ("figure toy --preset huge", "preset = huge: unknown; there are"),
    ("figure toy --preset quick --preset huge", "preset = huge: unknown; there are"),
    ("figure --preset huge", "preset = huge: unknown; there are"),
    ("figure toy --out experiments/toy.py", "out = experiments/toy.py: is a file, or below one; figures go into a folder"),
    ("figure toy --out experiments/toy.py/deeper", "out = experiments/toy.py/deeper: is a file, or below one"),
    ("show results", "store = results: does not exist"),
    ("show figures", "store = figures: is no store of theorysim"),
    ("show figures/toy.py", "store = figures/toy.py: is a file"),
    ("list toy", "unexpected extra argument"),
]


def refused(said, words):
    """One line, which begins with the name of the program and contains the words."""
    code, out, err = said
    assert (code, out) == (2, "")
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    assert err.startswith("theorysim: ")
    assert words in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"), [*((f"run toy {more}", words) for more, words in SETTINGS), *COMMANDS], ids=lambda value: value
)
def test_refused(theorysim, contents, arguments, words):
    before = contents()
    refused(theorysim(*arguments.split(" ")), words)
    assert contents() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n\ndef f(:\n    pass\n", "broken.py: line 3: invalid syntax"),
        ("\n\nx = 1 / 0\n", "broken.py: line 3: ZeroDivisionError"),
        ("x = 1\n", "does not define EXPERIMENT"),
    ],
)
@pytest.mark.parametrize("command", ["run", "verify", "figure"])
def test_a_file_that_will_not_do(theorysim, work, contents, command, text, words):
    (work / "broken.py").write_text(text)
    before = contents()
    refused(theorysim(command, "broken.py"), words)
    assert contents() == before


def test_a_broken_paper_among_others(theorysim, work, contents):
    (work / "experiments" / "broken.py").write_text("def f(:\n")
    before = contents()
    for command in ("list", "verify", "figure"):
        refused(theorysim(command), "broken.py: line 1: invalid syntax")
    assert contents() == before


def test_a_missing_drawing_is_told_before_anything_runs(theorysim, work, contents):
    (work / "figures" / "toy.py").unlink()
    before = contents()
    refused(theorysim("figure", "toy"), "figure = toy: there is no figures/toy.py that draws it")
    assert contents() == before


@pytest.mark.parametrize("command", ["verify", "figure"])
def test_a_preset_that_one_of_several_lacks(theorysim, work, text_of, contents, command):
    (work / "experiments" / "other.py").write_text(text_of().replace('"paper"', '"large"'))
    (work / "figures" / "other.py").write_text((work / "figures" / "toy.py").read_text())
    before = contents()
    refused(theorysim(command, "toy", "other", "--preset", "paper"), "preset = paper: unknown; there are quick, large")
    assert contents() == before


def test_no_command(theorysim):
    code, out, err = theorysim()
    assert code == 2
    assert "verify" in out
    assert len(err.splitlines()) == 1
    assert err.strip() != "theorysim:"
