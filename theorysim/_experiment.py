"""The contract of a paper file, and how it is loaded."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ._claims import Claim
from ._errors import InvalidArgument, Refused
from ._find import find, parse
from ._sweep import Study, sweep
from ._sweep.params import checked, fields_of
from ._sweep.sweep import OtherSweep

if TYPE_CHECKING:
    import xarray as xr

Preset = Mapping[str, Study]


@dataclass(frozen=True)
class Experiment:
    """One paper: its parameters, its trial, studies at several sizes, and its claims.

    **Arguments:**

    - `params`: a frozen dataclass; see `field`.
    - `trial`: `trial(params, key) -> dict` of arrays, pure.
    - `presets`: named studies at one size: `quick`, `paper`, `asymptotic`, ..
    - `claims`: what the paper states, as checks on the studies' data.

    **Raises:** `InvalidArgument` for a study or a claim that names what is not there.

    >>> import theorysim as ts
    >>> paper = ts.load("benign_relu")
    >>> sorted(paper.presets["quick"])
    ['curves', 'map']
    """

    params: Any
    trial: Callable[[Any, Any], dict[str, Any]]
    presets: Mapping[str, Preset]
    claims: Sequence[Claim] = ()
    name: str = ""
    path: Path | None = None

    def __post_init__(self):
        known, studies = fields_of(self.params), {s for preset in self.presets.values() for s in preset}
        for claim in self.claims:
            if claim.study not in studies:
                raise InvalidArgument(f"study of {claim.name}", claim.study, f"unknown; there are {', '.join(studies)}")
        for label, preset in self.presets.items():
            for name, study in preset.items():
                for item in [*study.over, *study.base]:
                    if item not in known:
                        raise InvalidArgument(f"field of {label}/{name}", item, f"unknown; there are {', '.join(known)}")

    def preset(self, name: str) -> Preset:
        """The studies of a preset."""
        if name not in self.presets:
            raise InvalidArgument("preset", name, f"unknown; there are {', '.join(self.presets)}")
        return self.presets[name]

    def study(self, preset: str, name: str) -> Study:
        """One study of a preset."""
        studies = self.preset(preset)
        if name not in studies:
            raise InvalidArgument("study", name, f"unknown; {preset} has {', '.join(studies)}")
        return studies[name]

    def run(
        self,
        preset: str = "quick",
        study: str | None = None,
        *,
        set: Mapping[str, Any] | None = None,
        seeds: int | None = None,
        store: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> xr.DataTree:
        """Run the studies of a preset, or one of them.

        **Arguments:**

        - `preset`, `study`: which; all studies of the preset if no `study` is given.
        - `set`: fields to replace (one value) or to sweep (several). One study runs then, the first or `study`, its other
          swept fields at their base values, in a group named `set`.
        - `seeds`: how many, instead of the study's own.
        - `store`, and `options`: as for `sweep` (`executor`, `progress`, `x64`, `seed`, `fresh`).

        **Returns:** a `DataTree` with one child for each study.

        **Raises:** `InvalidArgument`, `Refused`: as `sweep`.
        """
        import xarray as xr

        chosen = dict(self.preset(preset)) if study is None else {study: self.study(preset, study)}
        if set:
            name = next(iter(chosen))
            chosen = {"set": self._changed(chosen[name], set)}
        data = {}
        for name, item in chosen.items():
            arguments = {**options, "x64": options.get("x64") or item.x64, "store": store, "group": name}
            base, count = checked(self.params, dict(item.base)), seeds if seeds is not None else item.seeds
            try:
                data[name] = sweep(self.trial, base, item.over, seeds=count, **arguments)
            except OtherSweep:
                if name != "set":
                    raise
                # `set` is the place of the last try: another one takes it over
                data[name] = sweep(self.trial, base, item.over, seeds=count, **{**arguments, "fresh": True})
        return xr.DataTree.from_dict({f"/{name}": value for name, value in data.items()}, name=self.name or None)

    def _changed(self, study: Study, changes: Mapping[str, Any]) -> Study:
        single, many = {}, {}
        for name, values in changes.items():
            listed = list(values) if isinstance(values, list | range) or hasattr(values, "shape") else [values]
            single, many = ({**single, name: listed[0]}, many) if len(listed) == 1 else (single, {**many, name: listed})
        base = {k: v for k, v in {**study.base, **single}.items() if k not in many}
        return replace(study, over=many, base=base)


@contextmanager
def told(path: Path, what: str = "") -> Iterator[None]:
    """An error in the code of a paper's file is told in one line, with its own line number; `what` was being done."""
    try:
        yield
    except Exception as error:
        here = path.resolve()
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == here]
        where = f"line {lines[-1]}: " if lines else ""
        said = next(iter(str(error).splitlines()), "")
        raise Refused(f"{path}: {where}{what}{type(error).__name__}: {said}") from error


def module(path: Path) -> ModuleType:
    """Import a file by its path; an error in it is told in one line, with its own line number."""
    tree = parse(path)
    label = f"theorysim_file_{abs(hash(str(path.resolve())))}_{path.stem}"
    loaded = ModuleType(label)
    loaded.__file__ = str(path)
    sys.modules[label] = loaded  # annotations are resolved in the module's own names
    try:
        with told(path):
            # not an import: that would leave bytecode beside the file, and prefer it to a file that changed within a second
            exec(compile(tree, str(path), "exec"), vars(loaded))
    except Refused:
        del sys.modules[label]
        raise
    return loaded


def load(name: str | os.PathLike[str]) -> Experiment:
    """Load a paper.

    **Arguments:** `name`: a file's stem, sought in `./experiments`, in `$THEORYSIM_EXPERIMENTS` and then in the checkout; or a
    path to any Python file that defines `EXPERIMENT`.

    **Returns:** its `Experiment`.

    **Raises:** `InvalidArgument` if there is no such file, or no `EXPERIMENT` in it; `Refused` if it does not run.

    >>> load("benign_relu").name
    'benign_relu'
    """
    path = find(os.fspath(name))
    loaded = getattr(module(path), "EXPERIMENT", None)
    if not isinstance(loaded, Experiment):
        raise InvalidArgument("experiment", str(path), "does not define EXPERIMENT, a theorysim.Experiment")
    return replace(loaded, name=path.stem, path=path)
