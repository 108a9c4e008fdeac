"""Named random streams: adding one never changes the others."""

from __future__ import annotations

import zlib
from collections import namedtuple
from typing import Any

import jax
import jax.numpy as jnp

from ._errors import InvalidArgument


def streams(key: jax.Array, *names: str) -> Any:
    """Split a key into independent streams, one for each name.

    The stream of a name is `fold_in(key, crc32(name))`: it depends on the key and on that name alone, never on the
    other names or on their order.

    **Arguments:**

    - `key`: a typed key, as made by `jax.random.key`.
    - `names`: distinct identifiers.

    **Returns:** a named tuple of keys, one attribute for each name.

    **Raises:** `InvalidArgument` for a name that is not an identifier or stands twice.

    >>> import jax
    >>> few = streams(jax.random.key(0), "train")
    >>> more = streams(jax.random.key(0), "test", "train")
    >>> bool(few.train == more.train), bool(more.train == more.test)
    (True, False)
    """
    for name in names:
        if not name.isidentifier() or name.startswith("_"):
            raise InvalidArgument("streams", name, "a stream's name is an identifier")
        if names.count(name) > 1:
            raise InvalidArgument("streams", name, "each name once, or two streams would be equal")
    # one batched fold: a program with many streams compiles faster than with one fold each
    hashes = jnp.asarray([zlib.crc32(name.encode()) for name in names], jnp.uint32)
    return namedtuple("Streams", names)(*jax.vmap(jax.random.fold_in, (None, 0))(key, hashes))
