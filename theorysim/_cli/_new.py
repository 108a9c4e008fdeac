"""`theorysim new`: a paper of one's own, from a template that runs as it is."""

from __future__ import annotations

import keyword
from pathlib import Path

from .._errors import InvalidArgument, Refused
from .._find import names

_TEMPLATES = Path(__file__).parent / "templates"
_KINDS = {"experiments": "experiment.py.txt", "figures": "figure.py.txt"}


def new(name: str) -> None:
    if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise InvalidArgument("name", name, "must be an identifier such as my_paper, without a leading underscore")
    if name in names():
        raise InvalidArgument("name", name, "is taken by another experiment; `theorysim list` shows all")
    files = {Path(kind) / f"{name}.py": _TEMPLATES / template for kind, template in _KINDS.items()}
    for path in files:
        if path.exists() or path.is_symlink():
            raise InvalidArgument("name", name, f"{path} exists, and is not overwritten")
        if path.parent.exists() and not path.parent.is_dir():
            raise InvalidArgument("name", name, f"{path.parent} is a file; papers go into a folder of this name")
    written: list[Path] = []
    try:
        for path, template in files.items():
            path.parent.mkdir(exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(template.read_text(encoding="utf-8").replace("NAME", name))
    except OSError as error:
        for path in written:
            path.unlink()
        raise Refused(f"{error.filename}: {error.strerror}") from None
    print(*(f"wrote {path}" for path in files), sep="\n")
    print("now change them, and", *(f"  theorysim {command} {name}" for command in ("run", "verify", "figure")), sep="\n")
