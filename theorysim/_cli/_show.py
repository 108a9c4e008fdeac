"""`theorysim show`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from .._sweep import open as open_store


def show(store: Path) -> None:
    tree, console = open_store(store), Console(highlight=False)
    for name, node in tree.children.items():
        data = node.to_dataset()
        status = np.asarray(data.status)
        sizes = ", ".join(f"{dim} {size}" for dim, size in data.sizes.items())
        console.print(f"[bold]{name}[/bold]: {sizes}")
        console.print(f"  cells: {(status > 0).sum()} of {status.size} done, {(status == 2).sum()} non-finite")
        table = Table("variable", "dimensions", "min", "mean", "max", box=None, pad_edge=False, header_style="bold")
        for variable, values in data.data_vars.items():
            if variable != "status":
                numbers = (f"{float(f(values)):.4g}" for f in (np.nanmin, np.nanmean, np.nanmax))
                table.add_row(f"  {variable}", ", ".join(map(str, values.dims)), *numbers)
        console.print(table)
        for key, value in data.attrs.items():
            text = value
            if key in ("params", "versions"):
                text = ", ".join(f"{k} {v}" for k, v in json.loads(value).items())
            console.print(f"  {key}: {text}", soft_wrap=True)
