"""The list of finished chunks: append-only, each line with its own checksum."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any


def sync(path: Path) -> None:
    """Force a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Manifest:
    """Lines of JSON, each followed by its CRC-32. A line that fails its checksum (torn by a crash) is ignored."""

    def __init__(self, path: Path):
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """All sound lines, in order."""
        if not self.path.exists():
            return []
        lines = []
        for raw in self.path.read_bytes().split(b"\n"):
            body, _, check = raw.rpartition(b"\t")
            if body and check == b"%08x" % zlib.crc32(body):
                lines.append(json.loads(body))
        return lines

    def append(self, line: dict[str, Any]) -> None:
        """Add a line and force it to the disk; a torn line before it is ended first."""
        body = json.dumps(line, sort_keys=True).encode()
        new = not self.path.exists()
        with self.path.open("ab+") as out:
            if out.tell():
                out.seek(-1, os.SEEK_END)
                if out.read(1) != b"\n":
                    out.write(b"\n")
            out.write(b"%s\t%08x\n" % (body, zlib.crc32(body)))
            out.flush()
            os.fsync(out.fileno())
        if new:
            sync(self.path.parent)
