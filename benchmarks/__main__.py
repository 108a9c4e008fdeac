"""Run all cases in one process on one core: `python -m benchmarks [--full]`."""

from __future__ import annotations

import argparse
import logging
import os
from importlib.util import find_spec

from .pace import Contestant, Result, pin, race

PROMPTS = "linear attention, N = 1000"
SKIPPED = "PyTorch is not installed, so its rows are skipped; to have them: pip install -e '.[bench]'"


def contestants(dim: int) -> list[Contestant]:
    """Who runs the published setting at one dimension."""
    from . import plain_jax, workbench

    found = [plain_jax.contestant(dim), workbench.contestant(dim)]
    if find_spec("torch"):
        from . import published_loop

        found = [published_loop.contestant(dim), published_loop.contestant(dim, vectorised=True), *found]
    return found


def main() -> None:
    """Parse, run, print, and rewrite the README's table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--full", action="store_true", help="also the whole published map, on all cores (some minutes more)")
    parser.add_argument("--laps", type=int, default=7, help="timings of which the median is taken (default %(default)s)")
    parser.add_argument("--tiny", action="store_true", help="a trial of the benchmarks themselves: small, README untouched")
    options = parser.parse_args()

    cores = pin()  # before jax and torch are imported
    os.environ["THEORYSIM_CACHE"] = ""  # compile times are those of a first run
    os.environ["JAX_PLATFORMS"] = "cpu"  # core for core, also where there is an accelerator
    os.environ.pop("THEORYSIM_DEVICES", None)
    logging.getLogger("theorysim").setLevel(logging.ERROR)
    torch = find_spec("torch") is not None
    if torch:
        import torch as library

        library.set_num_threads(1)
    else:
        print(SKIPPED)

    from . import goals, label_noise, linear_attention, report, workbench

    laps = 1 if options.tiny else options.laps
    results: list[Result] = []
    for dim, label in ((100, "d = 100"), *(() if options.tiny else ((1090, "d = 1090"), (100_000, "d = 1e5")))):
        print(f"{label} ..", flush=True)
        results += race(label, contestants(dim), laps)
    print("d = 1e9 ..", flush=True)
    results += race("d = 1e9", [workbench.contestant(1e9)], laps)
    dimension = workbench.dimension_ratio(2 * laps)
    print("label noise ..", flush=True)
    results += race("label noise, n = 200", label_noise.contestants(options.tiny), min(laps, 5))
    print("prompts ..", flush=True)
    results += race(PROMPTS, linear_attention.contestants(options.tiny), min(laps, 5))
    context = linear_attention.context_ratio(laps, options.tiny)

    whole, loop_seconds, notes = None, None, [] if torch else [SKIPPED]
    sheets = [report.race_sheet(results, workbench.NAME)]
    if options.full:
        print("the whole map ..", flush=True)
        whole, loop_seconds, sheet = _whole(cores, max(1, laps // 2), torch)
        sheets.append(sheet)

    loop = goals.over(*(goals.seconds_of(results, "d = 1090", name) for name in ("PyTorch, published", workbench.NAME)))
    found = [*goals.goals(loop, dimension, whole, loop_seconds), *goals.of_prompts(results, PROMPTS, context, workbench.NAME)]
    rows = tuple(goal.row for goal in found)
    sheets.append(report.Sheet("Goals", ("goal", "wanted", "measured", ""), rows, (1, 2)))
    report.show(sheets, notes)
    if not options.tiny:
        report.rewrite(sheets, notes)


def _whole(cores: set[int], laps: int, torch: bool):
    """The map, and what the others would take for it."""
    from . import plain_jax, report, whole_map, workbench

    map_ = whole_map.measure(cores)
    pace = f"on {map_.cores} cores, {map_.cells / map_.run_seconds:,.0f} runs/s; compile {map_.compile_seconds:.1f} s apart"
    rows = [(workbench.NAME, f"{map_.run_seconds:.1f} s", f"{map_.core_seconds:.1f} s", "1x", pace)]

    def row(name: str, seconds: float) -> tuple[str, ...]:
        return (
            name,
            "",
            f"{seconds:,.0f} s",
            report.times(seconds / map_.core_seconds),
            "estimated from 5 dimensions, on one core",
        )

    rows.append(row("jit(vmap(scan))", whole_map.estimate(lambda dim: plain_jax.contestant(dim, (1, 8)), laps)))
    loop_seconds = None
    if torch:
        from . import published_loop

        loop_seconds = whole_map.estimate(published_loop.contestant, laps)
        rows.append(row("PyTorch, published loop", loop_seconds))
    heads = ("who", "run time", "core seconds", "core for core", "how")
    sheet = report.Sheet("The whole published map: 100 x 100 cells, 10 seeds", heads, tuple(rows), (1, 2, 3))
    return map_, loop_seconds, sheet


if __name__ == "__main__":
    main()
