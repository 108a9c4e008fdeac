"""The commands and their options; each does its work in a module that is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="A workbench in which deep-learning theory is simulated, drawn and checked.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Name = Annotated[str, typer.Argument(help="An experiment: its name, or a path to its file.")]
Names = Annotated[list[str] | None, typer.Argument(help="Experiments; all of them by default.")]
Presets = Annotated[list[str] | None, typer.Option("--preset", help="A size: quick, paper, asymptotic, .. May be repeated.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start anew, whatever is stored.")]
Executor = Annotated[str, typer.Option(help="Where trials run: local.")]


@app.command("list")
def list_() -> None:
    """List the experiments that can be found, with their presets."""
    from ._list import show

    show()


@app.command()
def new(name: Annotated[str, typer.Argument(help="An identifier that no experiment has yet.")]) -> None:
    """Begin a paper: write experiments/NAME.py and figures/NAME.py, which run as they are."""
    from ._new import new

    new(name)


@app.command()
def run(
    name: Name,
    preset: Annotated[str, typer.Option(help="A size: quick, paper, asymptotic, ..")] = "quick",
    study: Annotated[str | None, typer.Option(help="One study of the preset.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUES", help="Replace or sweep a field: 0.3 | 1,2,5 | lin:0:8:33 | log:1e2:1e9:8"
        ),
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="How many seeds.")] = None,
    seed: Annotated[str, typer.Option(help="The root seed.")] = "0",
    store: Annotated[Path | None, typer.Option(help="Folder of the store; results/NAME/PRESET.zarr by default.")] = None,
    executor: Executor = "local",
    fresh: Fresh = False,
    x64: Annotated[bool, typer.Option("--x64", help="float64 instead of float32.")] = False,
) -> None:
    """Run a preset of an experiment; what is stored already is not run again."""
    from ._run import run

    run(name, preset, study, set_ or [], seeds, seed, store, executor, fresh, x64)


@app.command()
def verify(
    names: Names = None,
    preset: Annotated[str | None, typer.Option(help="Decide all claims at this size.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a list of objects instead of a table.")] = False,
    fresh: Fresh = False,
) -> None:
    """Run what is missing and decide every claim; exit code 1 if a verdict differs from the expected one."""
    from ._verify import verify

    raise typer.Exit(verify(names or [], preset, json, fresh))


@app.command()
def report(
    names: Names = None,
    preset: Annotated[str | None, typer.Option(help="Decide all claims at this size.")] = None,
    out: Annotated[Path, typer.Option(help="The page, one HTML file.")] = Path("results/report.html"),
    fresh: Fresh = False,
) -> None:
    """Decide every claim and write a page with verdicts, evidence and figures; exit code as for verify."""
    from ._report import report

    raise typer.Exit(report(names or [], preset, out, fresh))


@app.command()
def hunt(
    name: Name,
    claim: Annotated[str | None, typer.Option(help="One claim that states a bound; all of them by default.")] = None,
    budget: Annotated[
        str, typer.Option(help="Time of the search for each bound, such as 60s or 2m; compiling comes on top.")
    ] = "60s",
    seed: Annotated[str, typer.Option(help="The seed of the search.")] = "0",
) -> None:
    """Look for a counterexample to the bounds of an experiment; exit code 1 if one is refuted."""
    from ._hunt import hunt

    raise typer.Exit(hunt(name, claim, budget, seed))


@app.command()
def figure(
    names: Names = None,
    preset: Presets = None,
    out: Annotated[Path, typer.Option(help="Folder of the figures.")] = Path("figures/out"),
    fresh: Fresh = False,
) -> None:
    """Run what is missing and draw the figures."""
    from ._figure import draw

    draw(names or [], preset or ["quick"], out, fresh)


@app.command()
def show(store: Annotated[Path, typer.Argument(help="Folder of a store.")]) -> None:
    """Show what a store holds and where it comes from."""
    from ._show import show

    show(store)
