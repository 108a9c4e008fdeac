"""What a result must say of itself: versions, machine, precision, commit."""

from __future__ import annotations

import dataclasses
import json
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from .devices import setting


@cache
def _commit() -> str:
    try:
        run = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return run.stdout.strip()


def provenance(params: Any, x64: bool, devices: list[Any]) -> dict[str, Any]:
    """Plain values, fit for attributes of a store."""
    packages = ("theorysim", "jax", "jaxlib", "flax", "optax", "numpy")
    return {
        "params": json.dumps(dataclasses.asdict(params)),
        "versions": json.dumps({name: version(name) for name in packages} | {"python": platform.python_version()}),
        "device": f"{devices[0].device_kind} x {len(devices)}",
        "dtype": "float64" if x64 else "float32",
        "prng": f"threefry2x32, partitionable {bool(setting('jax_threefry_partitionable'))}",
        "commit": _commit(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
