"""A workbench in which deep-learning theory is simulated, drawn and checked.

Names are handed out when they are first used, so that `import theorysim` starts neither jax nor flax.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import analysis, dynamics, exact, laws, models, objectives, observers, plotting, testing, theory
    from ._claims import Claim, Effect
    from ._errors import InvalidArgument, Refused
    from ._experiment import Experiment, load
    from ._named import named
    from ._simulate import log_times, simulate
    from ._streams import streams
    from ._sweep import Static, Study, Traced, field, open, sweep

__version__ = "0.1.0"

_HOMES = {
    "Claim": "_claims",
    "Effect": "_claims",
    "Experiment": "_experiment",
    "InvalidArgument": "_errors",
    "Refused": "_errors",
    "Static": "_sweep",
    "Study": "_sweep",
    "Traced": "_sweep",
    "field": "_sweep",
    "load": "_experiment",
    "log_times": "_simulate",
    "named": "_named",
    "open": "_sweep",
    "simulate": "_simulate",
    "streams": "_streams",
    "sweep": "_sweep",
}
_NAMESPACES = ("analysis", "dynamics", "exact", "laws", "models", "objectives", "observers", "plotting", "testing", "theory")

__all__ = [  # noqa: RUF022  (verbs first, then the contract of a paper, then the namespaces)
    "simulate", "sweep", "open", "load", "streams", "log_times", "named",
    "field", "Static", "Traced", "Experiment", "Study", "Claim", "Effect", "InvalidArgument", "Refused",
    "analysis", "dynamics", "exact", "laws", "models", "objectives", "observers", "plotting", "testing", "theory",
]  # fmt: skip


def __getattr__(name: str):
    if name in _NAMESPACES:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"theorysim has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
