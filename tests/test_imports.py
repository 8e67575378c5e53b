"""Imports run one way, and importing dpaudit loads nothing heavy."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("accountants", "attacks", "dpaudit")
# Which of the three packages each may import.
ALLOWED = {
    "accountants": {"accountants"},
    "attacks": {"accountants", "attacks"},
    "dpaudit": {"accountants", "attacks", "dpaudit"},
}
# Everything else that the accountants may import, at any depth.
ACCOUNTANTS_MAY_USE = {"numpy", "scipy", "dp_accounting", "mpmath"}
# Allowed only inside functions, wherever it stands.
LAZY = {
    "accelerate",
    "dp_accounting",
    "gguf",
    "matplotlib",
    "pandas",
    "pyarrow",
    "safetensors",
    "sentence_transformers",
    "statsmodels",
    "torch",
    "transformers",
    "yaml",
}
# Not loaded by `import dpaudit`.
HEAVY = sorted(LAZY | {"jinja2", "mpmath", "pydantic", "rich", "scipy.stats", "typer"})


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(tree: ast.AST, *, outside_functions: bool = False) -> Iterator[str]:
    """Yield the full name of every module that is imported, ``if TYPE_CHECKING`` left out."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                assert node.level == 0, "imports are absolute"
                yield node.module or ""
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef() if outside_functions:
                pass
            case _:
                yield from imported(node, outside_functions=outside_functions)


@pytest.mark.parametrize("package", PACKAGES)
def test_direction(package: str) -> None:
    assert sources(package)
    for path in sources(package):
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            top = name.split(".")[0]
            assert top not in PACKAGES or top in ALLOWED[package], f"{path} imports {name}"


# Modules that extend another library's classes or hand over to it: they are loaded on demand.
BRIDGES = {"dp_events.py": {"attr", "dp_accounting"}, "opendp_profile.py": {"opendp"}}


def test_accountants_use_no_more_than_numerical_packages() -> None:
    allowed = ACCOUNTANTS_MAY_USE | {"accountants"} | sys.stdlib_module_names
    for path in sources("accountants"):
        more = BRIDGES.get(path.name, set())
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            assert name.split(".")[0] in allowed | more, f"{path} imports {name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_heavy_packages_are_imported_inside_functions(package: str) -> None:
    for path in sources(package):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name in imported(tree, outside_functions=True):
            heavy = LAZY - BRIDGES.get(path.name, set())
            assert name.split(".")[0] not in heavy, f"{path} imports {name} at the top"
            assert not name.startswith("scipy.stats"), f"{path} imports {name} at the top"


def loaded_after(statement: str, modules: list[str]) -> list[str]:
    code = f"{statement}\nimport sys\nprint(*[m for m in {modules} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_importing_dpaudit_loads_nothing_heavy() -> None:
    assert loaded_after("import dpaudit; dpaudit.__version__", [*HEAVY, "numpy", "scipy"]) == []
    assert loaded_after("import dpaudit.errors", HEAVY) == []
    assert loaded_after("import accountants", HEAVY) == []


def test_reading_a_deployment_loads_no_more_than_pydantic() -> None:
    heavy = [name for name in HEAVY if name != "pydantic"]
    assert loaded_after("from dpaudit import Deployment", heavy) == []


def test_public_names() -> None:
    import dpaudit

    assert {"Deployment", "verify", "audit", "calibrate", "__version__"} <= set(dpaudit.__all__)
    assert set(dpaudit.__all__) <= set(dir(dpaudit))
    for name in dpaudit.__all__:
        assert getattr(dpaudit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dpaudit.nothing


def test_no_module_hides_a_public_function() -> None:
    taken = {path.stem for path in (ROOT / "dpaudit").iterdir()}
    assert taken.isdisjoint({"verify", "audit", "calibrate"})


def test_every_package_is_typed() -> None:
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()
