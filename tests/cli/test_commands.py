"""What the commands do when all is well."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import theorysim as ts

KEYS = ["experiment", "claim", "statement", "source", "verdict", "expected", "evidence", "seeds"]


def done(said):
    """What a command printed; it must have ended well."""
    assert said.code == 0, said.err
    return said.out


@pytest.mark.parametrize("arguments", ["list", "--help", "run --help"])
def test_what_only_reads_imports_no_library_of_the_simulations(work, arguments):
    script = (
        "import sys\nfrom theorysim._cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(sorted({'jax', 'flax', 'optax', 'xarray', 'matplotlib'} & set(sys.modules)))"
    )
    call = [sys.executable, "-c", script, *arguments.split()]
    seen = subprocess.run(call, capture_output=True, text=True, check=True, timeout=60)
    assert seen.stdout.splitlines()[-1] == "[]"
    assert {"list": "toy", "--help": "verify", "run --help": "--seeds"}[arguments] in seen.stdout


def test_list(theorysim):
    head, line = done(theorysim("list")).splitlines()
    assert head.split() == ["experiment", "presets", "paper"]
    assert line.split(maxsplit=3) == ["toy", "quick", "paper", "A toy: draws around a level."]


def test_run_writes_the_store_and_says_where(theorysim, work):
    said = theorysim("run", "toy")
    assert done(said) == "results/toy/quick.zarr\n"
    tree = ts.open(work / "results/toy/quick.zarr")
    assert dict(tree["map"].sizes) == {"signal": 2, "seed": 20}
    assert dict(tree["curve"].sizes) == {"seed": 20}
    assert (tree["map"].status == 1).all()
    assert re.search(r"^map: 40 cells, compile .* run ", said.err, re.MULTILINE)
    again = theorysim("run", "toy")
    assert done(again) == done(said)
    assert again.err.splitlines() == ["map: 40 cells, 40 from the store", "curve: 20 cells, 20 from the store"]
    fresh = theorysim("run", "toy", "--fresh")
    assert fresh.code == 0
    assert "from the store" not in fresh.err


def test_a_study_with_options(theorysim, work):
    options = "--study curve --seeds 3 --seed 5 --store my/own.zarr --x64 --executor local"
    assert done(theorysim("run", "toy", *options.split())) == "my/own.zarr\n"
    tree = ts.open(work / "my/own.zarr")
    assert list(tree.children) == ["curve"]
    data = tree["curve"].to_dataset()
    assert (dict(data.sizes), data.total.dtype, data.attrs["root_seed"]) == ({"seed": 3}, np.float64, 5)
    assert not (work / "results").exists()
    other = theorysim("run", "toy", *options.replace("--seed 5", "--seed 6").split())
    assert other.code == 2
    assert "the root seed differs (5 there, 6 now); --fresh starts anew" in other.err
    assert done(theorysim("run", "toy", *options.replace("--seed 5", "--seed 6 --fresh").split()))
    assert not np.isin(data.draw, ts.open(work / "my/own.zarr")["curve"].draw).any()


def test_more_seeds_are_added(theorysim, work):
    done(theorysim("run", "toy", "--study", "curve", "--seeds", "3"))
    said = theorysim("run", "toy", "--study", "curve", "--seeds", "5")
    assert said.err.startswith("curve: 5 cells, 3 from the store")
    assert ts.open(work / "results/toy/quick.zarr")["curve"].sizes["seed"] == 5


@pytest.mark.parametrize(
    ("texts", "sizes", "values"),
    [
        (["signal=lin:0:8:5"], {"signal": 5}, [0, 2, 4, 6, 8]),
        (["signal=4"], {}, [4]),
        (["signal=1,2", "dim=log:10:1000:3"], {"signal": 2, "dim": 3}, [1, 1, 1, 2, 2, 2]),
        (["n=2,3"], {"n": 2}, [1, 1]),
    ],
)
def test_set(theorysim, work, texts, sizes, values):
    options = [option for text in texts for option in ("--set", text)]
    assert done(theorysim("run", "toy", "--seeds", "2", *options)) == "results/toy/quick.zarr\n"
    tree = ts.open(work / "results/toy/quick.zarr")
    assert list(tree.children) == ["set"]
    assert dict(tree["set"].sizes) == {**sizes, "seed": 2}
    np.testing.assert_allclose(tree["set"].total.mean("seed").values.ravel(), values, atol=0.05)


def test_a_path_to_a_paper(theorysim, work):
    (work / "experiments" / "toy.py").rename(work / "mine.py")
    assert done(theorysim("run", "./mine.py", "--seeds", "2")) == "results/mine/quick.zarr\n"


def test_show(theorysim, work):
    done(theorysim("run", "toy"))
    shown = done(theorysim("show", "results/toy/quick.zarr"))
    data = ts.open(work / "results/toy/quick.zarr")["map"].total
    assert "map: signal 2, seed 20\n  cells: 40 of 40 done, 0 non-finite\n" in shown
    numbers = [f"{float(value):.4g}" for value in (data.min(), data.mean(), data.max())]
    assert re.search(r" total +signal, seed +" + " +".join(map(re.escape, numbers)), shown)
    assert "n 4, rule none, frame reduced, dim 10.0, flip 0.1" in shown
    assert re.search(r"versions: .*jax \d", shown)


def test_verify(theorysim, work, text_of):
    said = theorysim("verify", "toy", "--json")
    rows = json.loads(done(said))
    assert [list(row) for row in rows] == [KEYS] * 4
    verdicts = {row["claim"]: row["verdict"] for row in rows}
    assert verdicts == {"above": "holds", "below": "fails", "outside": "not applicable", "level": "undecided"}
    assert all(row["verdict"] == row["expected"] for row in rows)
    assert {(row["experiment"], row["seeds"]) for row in rows} == {("toy", 20)}
    assert (rows[0]["statement"], rows[0]["source"]) == ("the total is above 1/2", "by hand")
    assert re.fullmatch(r"margin 0\.\d+ \[0\.49\d*, 0\.50\d*\] at signal=1", rows[0]["evidence"])
    assert rows[2]["evidence"] == "signal >= 3 fails by 2"
    assert "seeds would decide" in rows[3]["evidence"]
    table = theorysim("verify")
    assert "4 claims, 4 as expected" in done(table)
    assert table.err.splitlines() == ["map: 40 cells, 40 from the store", "curve: 20 cells, 20 from the store"]


def test_verify_disagrees(theorysim, work, text_of):
    (work / "experiments" / "toy.py").write_text(text_of("not applicable"))
    said = theorysim("verify", "--json")
    assert said.code == 1
    assert [row["verdict"] == row["expected"] for row in json.loads(said.out)] == [False, True, True, True]
    table = theorysim("verify", "toy")
    assert table.code == 1
    assert "holds (expected not applicable)" in " ".join(table.out.split())
    assert "4 claims, 3 as expected, 1 not" in table.out


def test_verify_at_another_preset(theorysim, work):
    """All claims are listed; those whose study it lacks are left open, not wrong."""
    rows = json.loads(done(theorysim("verify", "toy", "--preset", "paper", "--json")))
    found = {row["claim"]: (row["verdict"], row["seeds"]) for row in rows}
    assert found == {"above": ("holds", 20), "below": ("fails", 20), "outside": ("undecided", 0), "level": ("undecided", 0)}
    assert rows[2]["evidence"] == "its study curve is in quick"
    assert sorted(path.name for path in (work / "results" / "toy").iterdir()) == ["paper.zarr"]
    table = " ".join(done(theorysim("verify", "toy", "--preset", "paper")).split())
    assert "undecided (expected at quick: not applicable)" in table
    assert "4 claims, 3 as expected, 1 left open at this size" in table  # `level` is expected to be undecided


@pytest.mark.parametrize(("own", "code"), [("quick", 1), ("paper", 0)])
def test_too_few_seeds_are_no_disagreement_at_another_size(theorysim, work, own, code):
    """With three seeds nothing is decided; only a claim that is to be decided there misses its verdict."""
    few = (work / "experiments" / "toy.py").read_text().replace("seeds=20)", "seeds=3)")
    few = few.replace("data.total - 0.5, 'holds')", f"data.total - 0.5, 'holds', {own!r})")
    (work / "experiments" / "toy.py").write_text(few.replace('-data.total, "fails")', '-data.total, "fails", "paper")'))
    said = theorysim("verify", "toy", "--preset", "quick", "--json")
    assert [row["verdict"] for row in json.loads(said.out)] == ["undecided", "undecided", "not applicable", "undecided"]
    assert said.code == code


def test_figures(theorysim, work):
    assert done(theorysim("figure", "toy")).splitlines() == [
        f"figures/out/toy-quick-{name}.png" for name in ("totals", "again")
    ]
    made = {path.name: path.read_bytes() for path in (work / "figures/out").iterdir()}
    assert sorted(made) == sorted(f"toy-quick-{name}.{end}" for name in ("totals", "again") for end in ("pdf", "png"))
    for name, content in made.items():
        assert content.startswith(b"\x89PNG" if name.endswith("png") else b"%PDF")
    assert not (work / "figures/gallery").exists()
    (work / "figures/gallery").mkdir()
    again = theorysim("figure", "--preset", "quick", "--preset", "paper", "--out", "drawn/here")
    assert again.code == 0
    assert {path.name: path.read_bytes() for path in (work / "drawn/here").iterdir() if "quick" in path.name} == made
    assert len(list((work / "drawn/here").iterdir())) == 8
    assert [path.name for path in (work / "figures/gallery").iterdir()] == ["toy-totals.png"]


def test_all_papers_draw_the_presets_that_they_have(theorysim, work, text_of, drawing):
    (work / "experiments" / "other.py").write_text(text_of().replace('"paper"', '"large"'))
    (work / "figures" / "other.py").write_text(drawing)
    assert theorysim("figure", "--preset", "large").code == 0
    assert {path.name.split(".")[0] for path in (work / "figures/out").iterdir()} == {"other-large-totals", "other-large-again"}
