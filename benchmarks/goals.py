"""What this workbench set out to reach, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .pace import Result
from .whole_map import Whole


@dataclass(frozen=True)
class Goal:
    """A number and its limit; `at_least` says on which side of the limit it should be."""

    what: str
    value: float | None
    limit: float
    unit: str
    at_least: bool

    @property
    def row(self) -> tuple[str, str, str, str]:
        """What, limit, measured, verdict."""
        wanted = f"{'>=' if self.at_least else '<='} {self.limit:g}{self.unit}"
        if self.value is None:
            return self.what, wanted, "", "not measured"
        met = self.value >= self.limit if self.at_least else self.value <= self.limit
        return self.what, wanted, f"{self.value:.3g}{self.unit}", "met" if met else "not met"


def seconds_of(results: Sequence[Result], case: str, name: str) -> float | None:
    """The median of one contestant, if it ran."""
    return next((r.seconds for r in results if r.case == case and r.name.startswith(name)), None)


def over(slow: float | None, fast: float | None) -> float | None:
    """The ratio, if both were measured."""
    return slow / fast if slow and fast else None


def goals(loop: float | None, dimension: float | None, whole: Whole | None, whole_loop: float | None) -> list[Goal]:
    """All goals: `loop` is the ratio at d = 1090, `dimension` that of 1e9 to 1e3, `whole_loop` the loop's estimated seconds."""
    return [
        Goal("faster than the published loop at d = 1090", loop, 300, "x", True),
        Goal(
            "faster than the published loop over the whole map", over(whole_loop, whole and whole.core_seconds), 250, "x", True
        ),
        Goal("the whole map, run time on two quiet cores", whole and whole.run_seconds, 30, " s", False),
        Goal("time at dim = 1e9 over time at dim = 1e3", dimension, 1.1, "", False),
    ]


def of_prompts(results: Sequence[Result], case: str, context: float, ours: str) -> list[Goal]:
    """Goals of training on prompts: against both rivals, and `context`, the ratio of a million examples to twenty."""
    jax, torch = (over(seconds_of(results, case, name), seconds_of(results, case, ours)) for name in ("jit(vmap", "PyTorch"))
    return [
        Goal("faster than jit(vmap(scan)) on explicit prompts", jax, 5, "x", True),
        Goal("faster than PyTorch on explicit prompts", torch, 10, "x", True),
        Goal("time at N = 1e6 over time at N = 20", context, 1.1, "", False),
    ]
