"""A paper from the template: it runs, verifies and draws as it is, and nothing is overwritten."""

from __future__ import annotations

import json

import pytest

import theorysim as ts
from theorysim._find import outline
from theorysim._sweep.params import fields_of

TAKEN = "is taken by another experiment"
NO_IDENTIFIER = "must be an identifier such as my_paper, without a leading underscore"


def test_the_template_runs_as_it_is(theorysim, work):
    said = theorysim("new", "my_paper")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[:2] == ["wrote experiments/my_paper.py", "wrote figures/my_paper.py"]
    commands = [line.split() for line in lines if line.startswith("  ")]
    assert [command[:2] for command in commands] == [["theorysim", verb] for verb in ("run", "verify", "figure")]
    for _, *arguments in commands:
        said = theorysim(*arguments)
        assert said.code == 0, said.err
    assert (work / "results/my_paper/quick.zarr").is_dir()
    assert (work / "figures/out/my_paper-quick-error.png").stat().st_size > 10_000
    rows = json.loads(theorysim("verify", "my_paper", "--json").out)
    assert {row["claim"]: row["verdict"] for row in rows} == {"fits": "holds", "benign": "holds", "needs_signal": "fails"}
    assert [row["expected"] for row in rows] == ["holds", "holds", "fails"]


def test_the_template_keeps_the_contract(theorysim, work):
    theorysim("new", "my_paper")
    paper = ts.load("my_paper")
    numbers = {field.name for field in fields_of(paper.params).values() if field.kind in (int, float)}
    for preset in ("quick", "paper"):
        for study in paper.presets[preset].values():
            assert set(study.sources) == numbers | {"seeds"}
    assert outline(work / "experiments/my_paper.py").title.startswith("What the paper shows")
    for kind in ("experiments", "figures"):
        assert "NAME" not in (work / kind / "my_paper.py").read_text()


def test_folders_are_made(theorysim, work, monkeypatch):
    (work / "elsewhere").mkdir()
    monkeypatch.chdir(work / "elsewhere")
    assert theorysim("new", "my_paper").code == 0
    assert theorysim("list").out.splitlines()[1].startswith("my_paper")


@pytest.mark.parametrize("name", ["my paper", "2024", "class", "my-paper", "../up", "a/b", "", "_hidden", "süß", "toy.py"])
def test_no_identifier(theorysim, contents, name):
    refused(theorysim, contents, name, NO_IDENTIFIER)


def test_taken(theorysim, contents, work, monkeypatch):
    refused(theorysim, contents, "toy", TAKEN)
    (work / "others").mkdir()
    (work / "others" / "theirs.py").write_text("")
    monkeypatch.setenv("THEORYSIM_EXPERIMENTS", str(work / "others"))
    refused(theorysim, contents, "theirs", TAKEN)


def test_nothing_is_overwritten(theorysim, contents, work):
    (work / "figures" / "drawn.py").write_text("# mine")
    refused(theorysim, contents, "drawn", "figures/drawn.py exists, and is not overwritten")


def test_a_file_in_the_way(theorysim, contents, work, monkeypatch):
    (work / "elsewhere").mkdir()
    monkeypatch.chdir(work / "elsewhere")
    (work / "elsewhere" / "figures").write_text("")
    refused(theorysim, contents, "my_paper", "figures is a file; papers go into a folder of this name")


def refused(theorysim, contents, name, rule):
    """One line that names the argument, exit code 2, and nothing written."""
    before = contents()
    said = theorysim("new", name)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("theorysim: name = ")
    assert rule in said.err
    assert said.err.count("\n") == 1
    assert contents() == before


def test_a_mistake_in_a_drawing_is_told_with_its_line(theorysim, work):
    theorysim("new", "my_paper")
    file = work / "figures/my_paper.py"
    text = file.read_text().replace('data["signal"]', 'data["signals"]')
    file.write_text(text)
    said = theorysim("figure", "my_paper")
    line = next(k for k, row in enumerate(text.splitlines(), 1) if "signals" in row)
    assert said.code == 2
    assert f"figures/my_paper.py: line {line}: draw(quick): KeyError" in said.err
    assert "Traceback" not in said.err
