"""Host devices over which the cells are sharded, and the precision of a sweep."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import jax

from .._errors import InvalidArgument

_log = logging.getLogger("theorysim")
_asked: int | None = None


def wanted() -> int:
    """Devices to use: `$THEORYSIM_DEVICES`, or one for each core that this process may use."""
    text = os.environ.get("THEORYSIM_DEVICES", "")
    if text:
        if not text.isdigit() or int(text) < 1:
            raise InvalidArgument("THEORYSIM_DEVICES", text, "must be a whole number >= 1")
        return int(text)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def devices() -> list[Any]:
    """The devices of a sweep. On a CPU they must be asked for before the first jax operation; then it is too late."""
    global _asked
    count = wanted()
    if _asked is None:
        _keep_compiled()
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", count)
        _asked = count
        if jax.default_backend() == "cpu" and len(jax.devices()) < count:
            _log.warning(
                "theorysim: jax was used before the first sweep, so %d of %d cores work; to use all, sweep first",
                len(jax.devices()), count,
            )  # fmt: skip
    available = jax.devices()
    return available[:count] if available[0].platform == "cpu" else available


def _keep_compiled() -> None:
    """Keep compiled programs between runs, unless the user keeps them elsewhere or `$THEORYSIM_CACHE` is empty."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "theorysim"
    place = os.environ.get("THEORYSIM_CACHE", str(default))
    if place and not setting("jax_compilation_cache_dir"):
        jax.config.update("jax_compilation_cache_dir", place)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)


def setting(name: str) -> Any:
    """A setting of jax as it is here and now."""
    return getattr(jax.config, name)


def precision(x64: bool) -> AbstractContextManager:
    """float64 or float32, in the thread that runs."""
    return jax.enable_x64(x64)
