"""Where paper files are, and what can be read of them without running them."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from pathlib import Path

from ._errors import InvalidArgument, Refused

CHECKOUT = Path(__file__).resolve().parent.parent


def folders(kind: str) -> list[Path]:
    """Folders of paper files in the order of search; `kind` is `experiments` or `figures`."""
    named = os.environ.get("THEORYSIM_EXPERIMENTS", "").split(os.pathsep) if kind == "experiments" else []
    places = [Path(kind), *(Path(place) for place in named if place), CHECKOUT / kind]
    return [place for place in places if place.is_dir()]


def names() -> list[str]:
    """All experiments that can be found by name."""
    return sorted({path.stem for place in folders("experiments") for path in place.glob("*.py") if path.stem[0] != "_"})


def find(name: str, kind: str = "experiments") -> Path:
    """The file of an experiment, given its name or a path to it."""
    if name.endswith(".py") or os.sep in name:
        path = Path(name)
        if not path.is_file():
            raise InvalidArgument("experiment", name, "there is no such file")
        return path
    for place in folders(kind):
        if (place / f"{name}.py").is_file():
            return place / f"{name}.py"
    raise InvalidArgument("experiment", name, f"unknown; there are {', '.join(names()) or 'none'}")


@dataclass(frozen=True)
class Outline:
    """What a paper file says of itself: its first line and its presets."""

    title: str
    presets: tuple[str, ...]


def parse(path: Path) -> ast.Module:
    """The syntax tree of a file, or one line that names the line at fault."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except SyntaxError as error:
        raise Refused(f"{path}: line {error.lineno}: {error.msg}") from None
    except (ValueError, OSError) as error:  # not UTF-8, zero bytes, or not to be read
        raise Refused(f"{path}: {type(error).__name__}: {error}") from None


def outline(path: Path) -> Outline:
    """Read a paper file without running it."""
    tree = parse(path)
    bound = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    presets: tuple[str, ...] = ()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "presets":
            value = bound.get(node.value.id) if isinstance(node.value, ast.Name) else node.value
            if isinstance(value, ast.Dict):
                presets = tuple(str(key.value) for key in value.keys if isinstance(key, ast.Constant))
    return Outline((ast.get_docstring(tree) or "").split("\n")[0], presets)
