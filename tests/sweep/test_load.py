"""How a paper is found and loaded, and what is said of a file that will not do."""

import pytest

import theorysim as ts
from theorysim._find import CHECKOUT, find, names, outline

PAPER = '''"""A title.

More words.
"""
from dataclasses import dataclass

import theorysim as ts


@dataclass(frozen=True)
class Params:
    scale: float = {scale}


PRESETS = {{"quick": {{"map": ts.Study()}}, "paper": {{}}}}
EXPERIMENT = ts.Experiment(params=Params, trial=lambda p, key: {{"x": p.scale}}, presets={presets})
'''


def write(folder, name, scale=1.0, presets="PRESETS"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(PAPER.format(scale=scale, presets=presets))
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in, without named folders."""
    monkeypatch.delenv("THEORYSIM_EXPERIMENTS", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def refuses(name, *words, error=ts.InvalidArgument):
    with pytest.raises(error) as caught:
        ts.load(name)
    assert len(str(caught.value).splitlines()) == 1
    for word in words:
        assert word in str(caught.value)


def scale(name):
    return ts.load(name).params().scale


def test_the_order_of_the_search(here, tmp_path, monkeypatch):
    name = "benign_relu"
    assert find(name) == CHECKOUT / "experiments" / f"{name}.py"
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setenv("THEORYSIM_EXPERIMENTS", f"{first}:{tmp_path / 'none'}:{second}")
    write(second, name, scale=2.0)
    assert scale(name) == 2
    write(first, name, scale=3.0)
    assert scale(name) == 3
    write(here / "experiments", name, scale=4.0)
    assert scale(name) == 4


def test_names(here, tmp_path, monkeypatch):
    monkeypatch.setenv("THEORYSIM_EXPERIMENTS", str(tmp_path / "mine"))
    write(tmp_path / "mine", "alpha")
    write(tmp_path / "mine", "_private")
    write(here / "experiments", "beta")
    assert {"alpha", "beta", "benign_relu"} <= set(names())
    assert "_private" not in names()


def test_by_path(here, tmp_path, monkeypatch):
    path = write(tmp_path / "elsewhere", "gamma", scale=5.0)
    assert scale(path) == scale(str(path)) == scale("../elsewhere/gamma.py") == 5
    paper = ts.load(path)
    assert (paper.name, paper.path) == ("gamma", path)
    monkeypatch.chdir(path.parent)
    assert scale("gamma.py") == 5
    path.write_text(PAPER.format(scale=6.0, presets="PRESETS"))
    assert scale("gamma.py") == 6  # a notebook sees the file as it is now


def test_what_is_not_there(here, tmp_path):
    refuses("alhpa", "experiment = alhpa: unknown; there are ", "benign_relu")
    refuses("missing.py", "experiment = missing.py: there is no such file")
    refuses(tmp_path, f"experiment = {tmp_path}: there is no such file")


@pytest.mark.parametrize("text", ["", "x = 1\n", "EXPERIMENT = 3\n"])
def test_without_experiment(here, tmp_path, text):
    (tmp_path / "bare.py").write_text(text)
    refuses(tmp_path / "bare.py", f"experiment = {tmp_path / 'bare.py'}: does not define EXPERIMENT")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n\ndef f(:\n    pass\n", "line 3: invalid syntax"),
        ("x = (1,\n", "line 1: '(' was never closed"),
        ("\n\nraise ValueError('first\\nsecond')\n", "line 3: ValueError: first"),
        ("def f():\n    return 1 / 0\n\nf()\n", "line 2: ZeroDivisionError: division by zero"),
        ("\nimport no_such_module\n", "line 2: ModuleNotFoundError: No module named 'no_such_module'"),
        ("import json\n\njson.loads('{')\n", "line 3: JSONDecodeError"),  # the file's line, not that of json
        ("assert False\n", "line 1: AssertionError"),
        ("import theorysim as ts\nts.Study(seeds=1, sources={'n': 'heard'})\n", "line 2: InvalidArgument: source of n = heard"),
    ],
)
@pytest.mark.parametrize("way", ["path", "name", "relative"])
def test_a_file_with_an_error_in_it(here, tmp_path, text, words, way):
    folder = tmp_path if way == "path" else here / "experiments"
    folder.mkdir(exist_ok=True)
    (folder / "broken.py").write_text(text)
    name = {"path": folder / "broken.py", "name": "broken", "relative": "experiments/broken.py"}[way]
    refuses(name, f"broken.py: {words}", error=ts.Refused)


@pytest.mark.parametrize("content", [b"x = '\xff\xfe'\n", b"x = 1\0\n"])
def test_a_file_that_is_no_text(here, tmp_path, content):
    (tmp_path / "binary.py").write_bytes(content)
    refuses(tmp_path / "binary.py", f"{tmp_path / 'binary.py'}: ", error=ts.Refused)


@pytest.mark.parametrize("presets", ["PRESETS", "{'quick': {}, 'paper': {}}"])
def test_an_outline_is_read_without_running_the_file(tmp_path, presets):
    path = write(tmp_path, "delta", presets=presets)
    path.write_text(path.read_text() + "\nraise RuntimeError\n")
    seen = outline(path)
    assert (seen.title, seen.presets) == ("A title.", ("quick", "paper"))
