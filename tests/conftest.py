"""What all tests share: two devices, checked annotations, and a count of the compiled programs."""

from __future__ import annotations

import os

# most of the suite's time is compilation: a quick compiler serves small arrays; `make verify` runs what users run. Not level 0:
# it gives NaN in a gradient of attention under vmap that levels 1 and 3, and uncompiled code, give as finite (jaxlib 0.10)
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=1"

import hypothesis
import jax
import jax.monitoring
import jaxtyping
import pytest

# all of this before anything imports theorysim; tests write nothing into a user's cache of compiled programs
os.environ.setdefault("THEORYSIM_CACHE", "")
jax.config.update("jax_num_cpu_devices", 2)
# every annotation is checked when a function is called; a whole number passes for a float, as type checkers have it
jaxtyping.install_import_hook("theorysim", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

hypothesis.settings.register_profile("theorysim", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("theorysim")

#: a compilation that takes longer (seconds) is a program: those of the papers take two and more; the rest are single
#: operations, toy trials and probes of a rule
SLOW = 1.0
#: programs that the whole suite may compile: one a paper for its smoke test, a few for each word; slow machines count more
MOST_PROGRAMS = 100

_compilations: list[tuple[float, str]] = []
_DOCTESTS = "a doctest, or the collection"
_current = _DOCTESTS


def _count(event: str, seconds: float, **more: object) -> None:
    name = str(more.get("fun_name", "unnamed"))
    # jit(_normal), jit(_where), ..: what jax itself compiles for one operation outside of a program
    if event == "/jax/core/compile/backend_compile_duration" and seconds > SLOW and not name.startswith("jit(_"):
        _compilations.append((seconds, f"{_current}: {name}"))


jax.monitoring.register_event_duration_secs_listener(_count)


def pytest_runtest_logstart(nodeid: str) -> None:
    global _current
    _current = nodeid


def pytest_runtest_logfinish() -> None:
    global _current
    _current = _DOCTESTS


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["programs"] = _compilations
    elif len(_compilations) > MOST_PROGRAMS and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Add up what the workers of a parallel run have compiled."""
    _compilations.extend(map(tuple, getattr(node, "workeroutput", {}).get("programs", ())))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    total = sum(seconds for seconds, _ in _compilations)
    line = f"{len(_compilations)} compiled programs ({total:.0f} s), {MOST_PROGRAMS} allowed"
    many = len(_compilations) > MOST_PROGRAMS
    terminalreporter.write_line(line, red=many)
    if many or terminalreporter.config.get_verbosity() > 0:
        for seconds, where in sorted(_compilations, reverse=True):
            terminalreporter.write_line(f"  {seconds:5.2f} s  {where}")


@pytest.fixture
def key() -> jax.Array:
    """A key for the draws of one test."""
    return jax.random.key(20240607)
