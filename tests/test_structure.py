"""The shape of the repository: who knows whom, how long files are, and what is public."""

from __future__ import annotations

import ast
import inspect
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

import theorysim as ts

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "theorysim"
CODE = [path for folder in ("theorysim", "experiments", "figures", "tests") for path in (ROOT / folder).rglob("*.py")]
MATHEMATICS = ("laws", "models", "objectives", "dynamics", "observers", "exact", "theory")
#: part -> parts of the package that it must not know
UNKNOWN = {
    **dict.fromkeys(MATHEMATICS, ("_sweep", "_experiment", "_claims", "_cli", "_verdicts", "plotting", "testing")),
    "_sweep": ("_experiment", "_claims", "_cli", "_verdicts", "plotting", "testing"),
    "_simulate": ("_sweep", "_experiment", "_claims", "_cli", "plotting", "testing"),
    "analysis": ("_experiment", "_cli", "plotting", "testing"),
}
NAMESPACES = ("analysis", "dynamics", "exact", "laws", "models", "objectives", "observers", "plotting", "testing", "theory")


def imports(text: str, module: tuple[str, ...]) -> set[str]:
    """The absolute names of all that a module's text imports, wherever the import stands; `module` is its own name."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [*module[: len(module) - node.level]] if node.level else []
            home = ".".join([*base, *([node.module] if node.module else [])])
            found |= {home} | {f"{home}.{alias.name}" for alias in node.names}
    return found


def imports_of(path: Path) -> set[str]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return imports(path.read_text(encoding="utf-8"), parts)


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_imports_are_read():
    text = "import jax\nfrom .._sweep import sweep\nfrom . import cnn\nfrom ...experiments.a import b"
    assert imports(text, ("theorysim", "models", "cnn")) >= {"jax", "theorysim._sweep", "theorysim.models.cnn", "experiments.a"}


@pytest.mark.parametrize("part", UNKNOWN)
def test_arrows(part):
    files = [path for path in PACKAGE.rglob("*.py") if part_of(path) == part]
    assert files
    for path in files:
        known = imports_of(path)
        wrong = {name for name in known for other in UNKNOWN[part] if f"{name}.".startswith(f"theorysim.{other}.")}
        assert not wrong, f"{path.relative_to(ROOT)} imports {', '.join(sorted(wrong))}"


def test_the_package_knows_no_paper():
    for path in PACKAGE.rglob("*.py"):
        assert not {
            name for name in imports_of(path) if name.split(".")[0] in ("experiments", "figures", "tests", "benchmarks")
        }


def test_no_file_is_long():
    assert [str(path.relative_to(ROOT)) for path in CODE if len(path.read_text(encoding="utf-8").splitlines()) > 500] == []


@pytest.mark.parametrize("folder", ["theorysim", "tests"])
def test_half_of_the_files_are_short(folder):
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py")]
    assert statistics.median(lengths) < 150


def test_importing_starts_no_library():
    code = "import sys, theorysim; print([name for name in ('jax', 'flax', 'optax', 'xarray', 'zarr') if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.strip() == "[]"


def test_the_public_names():
    verbs = {"simulate", "sweep", "open", "load", "streams", "log_times", "named", "field"}
    contract = {"Static", "Traced", "Experiment", "Study", "Claim", "Effect", "InvalidArgument", "Refused"}
    assert set(ts.__all__) == verbs | contract | set(NAMESPACES)
    assert len(set(ts.__all__)) == len(ts.__all__)
    assert set(dir(ts)) == {*ts.__all__, "__version__"}
    assert all(getattr(ts, name) is not None for name in ts.__all__)


def test_an_unknown_name_is_told():
    with pytest.raises(AttributeError, match="theorysim has no 'simulat'; it has simulate"):
        _ = ts.simulat


def public() -> dict[str, object]:
    """Every public function and class, and those of the theory of each paper."""
    found = {f"ts.{name}": getattr(ts, name) for name in ts.__all__ if name not in NAMESPACES}
    spaces = {name: getattr(ts, name) for name in NAMESPACES}
    spaces |= {f"theory.{name}": getattr(ts.theory, name) for name in ts.theory.__all__}
    for space, module in spaces.items():
        names = getattr(module, "__all__", None) or [
            n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__
        ]
        found |= {f"{space}.{name}": getattr(module, name) for name in names if not name.startswith("_")}
    return {
        name: value
        for name, value in found.items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and not (inspect.isclass(value) and issubclass(value, Exception))
    }


@pytest.mark.parametrize("name", public())
def test_every_public_name_is_documented_with_an_example(name):
    text = inspect.getdoc(public()[name]) or ""
    assert len(text.splitlines()) > 1
    assert ">>>" in text, f"{name} has no example"


def test_namespaces_say_what_they_hold():
    for name in NAMESPACES:
        module = getattr(ts, name)
        assert module.__doc__
        assert set(getattr(module, "__all__", ())) <= set(dir(module))
