"""A Zarr store of finished cells that survives a crash at any moment.

One store a preset, one group a study, a flat `cell` axis chunked along it. A chunk counts as done when the manifest says so,
with a digest of its files; the manifest is written after the chunk's files and their folders are on the disk.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

from .._errors import InvalidArgument, Refused
from .manifest import Manifest, sync
from .template import Output

_MARK = "theorysim"


def _shape(output: Output, cells: int) -> tuple[int, ...]:
    return (cells, *output.shape)


class StoredPart:
    """The group of one part: arrays along `cell`, of which some chunks are done."""

    def __init__(self, store: Store, name: str, group: zarr.Group):
        self.store, self.name, self.group = store, name, group
        self.chunk = int(self.attrs["chunk"])

    @property
    def attrs(self) -> dict[str, Any]:
        return dict(self.group.attrs)

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays that chunks are made of: the outputs and `status`."""
        # zarr forgets this setting: without it a chunk of nothing but NaN has no file
        with zarr.config.set({"array.write_empty_chunks": True}):
            return {name: self.group[name] for name in [*self.attrs["outputs"], "status"]}

    def _files(self, index: int) -> list[Path]:
        found = []
        for name, array in self.arrays.items():
            key = array.metadata.encode_chunk_key((index, *(0 for _ in array.shape[1:])))
            found.append(self.store.path / self.name / name / key)
        return found

    def _digest(self, index: int) -> str:
        digest = hashlib.sha256()
        for path in self._files(index):
            digest.update(path.read_bytes() if path.exists() else b"missing")
        return digest.hexdigest()

    def listed(self) -> dict[int, dict[str, Any]]:
        """What the manifest says of this group's chunks since the group was made; the last word on each counts."""
        found: dict[int, dict[str, Any]] = {}
        for line in self.store.manifest.read():
            if line.get("group") == self.name:
                found = {**found, line["chunk"]: line} if "chunk" in line else {}
        return found

    def sound(self, index: int, line: dict[str, Any]) -> bool:
        """Whether a listed chunk's files are as they were when it was listed."""
        return self._digest(index) == line["digest"]

    def read(self, index: int) -> dict[str, np.ndarray]:
        """The columns of one chunk."""
        cells = slice(index * self.chunk, (index + 1) * self.chunk)
        return {name: np.asarray(array[cells]) for name, array in self.arrays.items()}

    def write(self, index: int, columns: dict[str, np.ndarray]) -> None:
        """Write one chunk, force it to the disk, then list it."""
        start = index * self.chunk
        count = len(columns["status"])
        for file in self._files(index):
            file.unlink(missing_ok=True)  # Zarr would read a damaged one where not all of its cells are written
        for name, array in self.arrays.items():
            array[start : start + count] = columns[name]
        files = self._files(index)
        for path in {p for file in files for p in (file, file.parent)}:
            sync(path)
        self.store.manifest.append({"group": self.name, "chunk": index, "cells": count, "digest": self._digest(index)})

    def grow(self, cells: int, coordinates: dict[str, np.ndarray], **attrs: Any) -> None:
        """Make room for more seeds."""
        for array in self.arrays.values():
            if array.shape[0] < cells:
                array.resize((cells, *array.shape[1:]))
        self.store.write_coordinates(self.group, coordinates)
        self.group.attrs.update(attrs)


class Store:
    """A folder with a Zarr hierarchy, a manifest and a lock; one writer at a time."""

    def __init__(self, path: str | os.PathLike[str], *, write: bool):
        self.path = Path(path)
        self.manifest = Manifest(self.path / "manifest.jsonl")
        if self.path.is_file():
            raise InvalidArgument("store", str(path), "is a file; a store is a folder")
        ours = (self.path / "zarr.json").exists() and _MARK in (self.path / "zarr.json").read_text()
        if not write and not ours:
            raise InvalidArgument("store", str(path), "is no store of theorysim" if self.path.exists() else "does not exist")
        if write and not ours and self.path.exists():
            # what a crash may leave of a store before its root says that it is one
            others = [item.name for item in self.path.iterdir() if item.name != ".lock" and not item.name.startswith("zarr.")]
            if others:
                raise InvalidArgument("store", str(path), "is a folder with other things in it; give a new one")
        self._lock = self._take_lock() if write else None
        self.root = zarr.open_group(self.path, mode="r" if not write else "a", zarr_format=3)
        if write and _MARK not in self.root.attrs:
            self.root.attrs.update({_MARK: 1})
            sync(self.path)

    def _take_lock(self) -> Any:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("a+")
        except OSError as error:
            raise InvalidArgument("store", str(self.path), f"cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            lock.close()
            raise Refused(f"store {self.path} is being written by {holder}; wait for it, or give another --store") from None
        lock.seek(0)
        lock.truncate()
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        return lock

    def close(self) -> None:
        """Let another writer in."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def studies(self) -> dict[str, list[str]]:
        """The groups that were completely made and not dropped since, by the study they are parts of."""
        made: dict[str, bool] = {}
        for line in self.manifest.read():
            if "made" in line:
                made[line["group"]] = line["made"]
        found: dict[str, list[str]] = {}
        for name, there in made.items():
            if there and name in self.root:
                found.setdefault(name.split("/")[0], []).append(name)
        return found

    def part(self, name: str) -> StoredPart | None:
        """The group of a part, or None if it was not completely made."""
        if name not in self.studies().get(name.split("/")[0], []):
            return None
        group = self.root[name]
        assert isinstance(group, zarr.Group)
        return StoredPart(self, name, group)

    def drop(self, study: str) -> None:
        """Forget a study: first in the manifest, so that a crash leaves no half of it."""
        for name in self.studies().get(study, []):
            self.manifest.append({"group": name, "made": False})
        if (self.path / study).exists():
            shutil.rmtree(self.path / study)
            sync(self.path)

    def make(
        self,
        name: str,
        template: dict[str, Output],
        coordinates: dict[str, np.ndarray],
        chunk: int,
        attrs: dict[str, Any],
    ) -> StoredPart:
        """Make the group of a part from the template of its outputs, empty; then list it."""
        cells = len(coordinates["seed"])
        if (self.path / name).exists() and self.part(name) is None:
            shutil.rmtree(self.path / name)
        group = self.root.require_group(name)
        for output, spec in [*template.items(), ("status", Output((), (), np.dtype("int8"), ()))]:
            group.create_array(
                output,
                shape=_shape(spec, cells),
                chunks=(chunk, *(max(1, n) for n in spec.shape)),
                dtype=spec.dtype,
                compressors=(ZstdCodec(level=1), Crc32cCodec()),
                fill_value=np.nan if spec.dtype.kind == "f" else 0,
                dimension_names=("cell", *spec.dims),
                config={"write_empty_chunks": True},
                overwrite=True,
            )
        self.write_coordinates(group, coordinates)
        group.attrs.update({**attrs, "chunk": chunk, "outputs": list(template)})
        sync(self.path)
        self.manifest.append({"group": name, "made": True})
        return StoredPart(self, name, group)

    def write_coordinates(self, group: zarr.Group, coordinates: dict[str, np.ndarray]) -> None:
        """The swept fields and the seed of every cell, for readers of the raw store."""
        for name, values in coordinates.items():
            values = values if values.dtype.kind in "fiub" else np.asarray([json.dumps(v) for v in values.tolist()])
            array = group.create_array(
                f"cell_{name}" if name != "seed" else name,
                shape=values.shape,
                chunks=values.shape,
                dtype=values.dtype if values.dtype.kind in "fiub" else str,
                compressors=(ZstdCodec(level=1), Crc32cCodec()),
                dimension_names=("cell",),
                config={"write_empty_chunks": True},
                overwrite=True,
            )
            array[:] = values
