"""The memory that a sweep may use."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .._errors import InvalidArgument, Refused

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _free() -> int:
    """Bytes that a new program could have: what the kernel calls available, caches included, where it says so."""
    try:
        match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    except OSError:
        match = None
    return int(match[1]) * 1024 if match else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def budget() -> int:
    """Bytes: `$THEORYSIM_MEMORY` (such as `8G`), or half of what is free."""
    text = os.environ.get("THEORYSIM_MEMORY", "")
    if not text:
        return _free() // 2
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise InvalidArgument("THEORYSIM_MEMORY", text, "must be a size such as 500M or 8G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def _shown(size: int) -> str:
    """Bytes in words."""
    unit = next((unit for unit in "TGMK" if size >= _UNITS[unit]), "")
    return f"{size / _UNITS[unit]:.3g} {unit}{'iB' if unit else 'bytes'}"


def require(what: str, needed: int, remedy: str) -> None:
    """Refuse what does not fit the budget."""
    limit = budget()
    if needed > limit:
        raise Refused(f"{what} needs {_shown(needed)}, the budget is {_shown(limit)}: {remedy}, or raise THEORYSIM_MEMORY")
