"""What the README and docs/ show does run, and is as short as it is said to be."""

from __future__ import annotations

import re
import shlex

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.image import imread
from typer.main import get_command

import theorysim as ts
from theorysim._cli._app import app
from theorysim._cli._run import changes, store_of
from theorysim._find import CHECKOUT, names

README = (CHECKOUT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def code_lines(text):
    """Lines that are neither empty, nor comments, nor imports."""
    return [line for line in text.splitlines() if line.strip() and not re.match(r"\s*#|import |from ", line)]


def with_numbers(text, **smaller):
    """The script with other numbers: `seeds=8` becomes `seeds=2`. Each must be there: what is run is what is shown."""
    for name, value in smaller.items():
        text, count = re.subn(rf"\b{name}=\d+\b", f"{name}={value}", text)
        assert count == 1, name
    return text


LINES = {line for block in blocks("sh") for line in block.splitlines() if line.startswith("theorysim ")}
COMMANDS = [shlex.split(line, comments=True)[1:] for line in sorted(LINES)]
#: papers that the README has a reader begin
BEGUN = {command[1] for command in COMMANDS if command[0] == "new"}


def test_the_script_of_the_readme(capsys):
    (script,) = blocks("python")
    assert len(code_lines(script)) <= 10
    scope = {}
    exec(compile(with_numbers(script, seeds=2), "README.md", "exec"), scope)
    data = scope["data"]
    assert isinstance(data, xr.Dataset)
    assert list(data.test_error.dims) == ["dim", "signal", "seed"]
    assert (data.status == 1).all()
    boundary = ts.analysis.phase_boundary(data, "test_error", level=0.1, along="signal")
    assert 0 < boundary[0] < boundary[1] < 30  # what is shown shows something: the boundary grows with the dimension
    assert "DataArray" in capsys.readouterr().out


def test_a_changed_paper(tmp_path, monkeypatch, capsys):
    text = (CHECKOUT / "docs" / "change_a_paper.py").read_text()
    assert len(text.splitlines()) < 25
    monkeypatch.chdir(tmp_path)
    scope, before = {}, dict(mpl.rcParams)
    exec(compile(with_numbers(text, n=20, steps=20, records=5, seeds=2), "change_a_paper.py", "exec"), scope)
    data = scope["data"]
    assert dict(data.test_error.sizes) == {"flip_plus": 5, "seed": 2, "time": 5}
    assert np.isfinite(data.test_error).all()
    assert imread(tmp_path / "one_sided_hinge.png").std() > 0
    assert [path.name for path in tmp_path.iterdir()] == ["one_sided_hinge.png"]
    assert len(scope["axes"].lines) == 5
    assert capsys.readouterr().out.startswith("[")
    assert dict(mpl.rcParams) == before


def test_the_bound_of_a_user_is_short_and_collected(pytestconfig):
    text = (CHECKOUT / "docs" / "test_own_bound.py").read_text()
    assert len(text.splitlines()) < 20
    assert "@given" in text
    assert "docs" in pytestconfig.getini("testpaths")


def test_the_readme_shows_every_binding_command():
    assert {"list", "run", "verify", "figure", "show"} <= {command[0] for command in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_of_the_readme_is_accepted(command):
    name, *rest = command
    context = get_command(app).commands[name].make_context(name, rest)  # raises for an unknown option
    given = context.params
    for paper in {given.get("name"), *(given.get("names") or [])} - BEGUN - {None}:
        assert paper in names()
        presets = given.get("preset") or []
        for preset in [presets] if isinstance(presets, str) else presets:
            assert ts.load(paper).preset(preset)
        assert len(changes(ts.load(paper), given.get("set_") or [])) == len(given.get("set_") or [])
    if "store" in given and name == "show":
        stores = {store_of(paper, preset) for paper in names() for preset in ts.load(paper).presets}
        assert given["store"] in stores


def test_the_make_targets_of_the_readme_exist():
    shown = set(re.findall(r"(?:`|^)make ([\w-]+)", README, re.MULTILINE))
    targets = set(re.findall(r"^([\w-]+)%?:", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    assert {"figures", "test"} <= shown
    for target in shown:
        assert target in targets or (target.startswith("figure-") and "figure-" in targets), target


def test_what_the_readme_names_is_there():
    for path in re.findall(r"\]\(([^)#:]+)\)", README):
        # pictures are drawn by make
        assert (CHECKOUT / path).exists() or path.startswith("figures/gallery/"), path
    for word in set(re.findall(r"\bts\.((?:\w+\.)*\w+)", README)):
        item = ts
        for part in word.split("."):
            item = getattr(item, part)
    variables = set(re.findall(r"\bTHEORYSIM_\w+", README))
    source = "".join(path.read_text() for path in (CHECKOUT / "theorysim").rglob("*.py"))
    assert variables == set(re.findall(r"\bTHEORYSIM_[A-Z]+", source))
