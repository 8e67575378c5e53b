"""A hash of functions and data by what they say, to tell whether an audit is still the same one.

Functions are hashed by their compiled code (so that comments and layout do not count), their
defaults, the variables they enclose, and the functions, classes and constants of their module that
they name. What belongs to an installed package or to Python is known by its name and version.
Nothing is pickled. What cannot be hashed is listed, for the audit to say so.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_OURS = {"accountants", "attacks", "dpaudit"}
_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, np.ndarray)


@dataclass(frozen=True)
class Fingerprint:
    """A hash, and what it could not take in.

    Attributes
    ----------
    sha256 : str
        64 hexadecimal digits.
    unseen : tuple of str
        Names of the parts whose content the hash does not cover.
    """

    sha256: str
    unseen: tuple[str, ...] = ()


def fingerprint(value: Any) -> Fingerprint:
    """Hash a value of any type.

    Parameters
    ----------
    value : object
        Data, a function, or an object made of such.

    Returns
    -------
    Fingerprint
        The same for equal values in every process with the same version of Python.
    """
    hasher = _Hasher()
    hasher.feed(value)
    return Fingerprint(hasher.digest.hexdigest(), tuple(dict.fromkeys(hasher.unseen)))


def qualified_name(value: Any) -> str:
    """Name a function, a class or an object's class as ``module:name``.

    Parameters
    ----------
    value : object
        Any.

    Returns
    -------
    str
        Its name; a partial function's is that of the function within.
    """
    while isinstance(value, functools.partial):
        value = value.func
    if not hasattr(value, "__qualname__"):
        value = type(value)
    return f"{getattr(value, '__module__', None)}:{value.__qualname__}"


class _Hasher:
    """Feeds a hash with tagged, length-prefixed pieces, so that no two values read the same."""

    def __init__(self) -> None:
        self.digest = sha256()
        self.unseen: list[str] = []
        self._open: set[int] = set()
        self._known: dict[int, Any] = {}

    def feed(self, value: Any) -> None:
        """Take in one value."""
        match value:
            case None | bool() | int() | float() | complex():
                self._piece(type(value).__name__, repr(value).encode())
            case str():
                self._piece("str", value.encode("utf-8", "surrogatepass"))
            case bytes() | bytearray():
                self._piece("bytes", bytes(value))
            case Enum():
                self._piece("enum", f"{qualified_name(type(value))}.{value.name}".encode())
            case PurePath():
                self._piece("path", str(value).encode("utf-8", "surrogateescape"))
            case ModuleType():
                self._piece("module", f"{value.__name__} {_version(value.__name__)}".encode())
            case np.ndarray() if value.dtype != object:
                self._piece("array", f"{value.dtype.str} {value.shape}".encode())
                self._piece("values", np.ascontiguousarray(value).tobytes())
            case np.generic() | np.dtype():
                self._piece(type(value).__name__, repr(value).encode())
            case CodeType():
                self._code(value)
            case _:
                self._nested(value)

    def _nested(self, value: Any) -> None:
        """Take in what may contain itself."""
        if id(value) in self._open:
            self._piece("cycle", b"")
            return
        self._open.add(id(value))
        match value:
            case list() | tuple() | np.ndarray():
                self._many(type(value).__name__, value)
            case Mapping():
                self._many("mapping", (item for pair in value.items() for item in pair))
            case set() | frozenset():
                self._many("set", sorted(fingerprint(item).sha256 for item in value))
            case functools.partial():
                self._many("partial", (value.func, value.args, value.keywords))
            case MethodType():
                self._many("method", (value.__func__, value.__self__))
            case FunctionType() | type() | BuiltinFunctionType() | np.ufunc():
                self._named(value)
            case _ if hasattr(value, "detach") and hasattr(value, "numpy"):
                self.feed(value.detach().cpu().numpy())
            case _:
                self._object(value)
        self._open.discard(id(value))

    def _named(self, value: Any) -> None:
        """Take in a function or class: by version if installed, else by its code, once."""
        self._piece("name", qualified_name(value).encode())
        version = _version(getattr(value, "__module__", None) or "builtins")
        if version is not None:
            self._piece("version", version.encode())
        elif id(value) not in self._known:
            self._known[id(value)] = value
            if isinstance(value, FunctionType):
                self._function(value)
            elif isinstance(value, type):
                self._class(value)
            else:
                self.unseen.append(qualified_name(value))

    def _function(self, function: FunctionType) -> None:
        """Take in code, defaults, enclosed variables, and what it names in its module."""
        self.feed(function.__code__)
        self.feed(function.__defaults__)
        self.feed(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                self.feed(cell.cell_contents)
            except ValueError:  # a variable that is not set yet
                self._piece("empty", b"")
        for name in sorted(_names(function.__code__)):
            found = function.__globals__.get(name)
            if isinstance(
                found, (FunctionType, type, ModuleType, BuiltinFunctionType, *_CONSTANTS)
            ):
                self._piece("global", name.encode())
                self.feed(found)

    def _class(self, cls: type) -> None:
        """Take in a class: its bases, methods and constants."""
        for base in cls.__bases__:
            self.feed(base)
        for name, member in sorted(vars(cls).items()):
            if isinstance(member, staticmethod | classmethod):
                member = member.__func__
            elif isinstance(member, property):
                member = (member.fget, member.fset, member.fdel)
            elif isinstance(member, functools.cached_property):
                member = member.func
            if isinstance(member, FunctionType | tuple) or (
                isinstance(member, _CONSTANTS) and not name.startswith("__")
            ):
                self._piece("member", name.encode())
                self.feed(member)

    def _code(self, code: CodeType) -> None:
        """Take in compiled code without names of files and numbers of lines."""
        self._piece("code", code.co_code)
        for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self._many("names", names)
        constants = code.co_consts
        if constants and isinstance(constants[0], str):
            constants = constants[1:]  # a docstring, or a constant that the code then tells apart
            self._piece("first", code.co_consts[0].encode("utf-8", "surrogatepass"))
        self._many("constants", constants)

    def _object(self, value: Any) -> None:
        """Take in any other object by its class and attributes."""
        self._named(type(value))
        state = _state(value)
        if state is None:
            self.unseen.append(qualified_name(value))
        else:
            self._many("state", (item for pair in state for item in pair))

    def _many(self, tag: str, values: Iterable[Any]) -> None:
        self._piece(tag, b"")
        for value in values:
            self.feed(value)
        self._piece("end", b"")

    def _piece(self, tag: str, content: bytes) -> None:
        self.digest.update(f"{tag} {len(content)} ".encode())
        self.digest.update(content)


def _state(value: Any) -> list[tuple[str, Any]] | None:
    """Return an object's attributes, or None if it does not show them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [
            (field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)
        ]
    names = set(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        names.update((slots,) if isinstance(slots, str) else slots)
    names -= {"__dict__", "__weakref__"}
    if not names and not _plain_class(type(value)):
        return None
    return [(name, getattr(value, name, None)) for name in sorted(names)]


def _plain_class(cls: type) -> bool:
    """Tell whether a class was written in Python, so that an object without attributes has none."""
    return "__dict__" in dir(cls) or "__slots__" in vars(cls)


def _names(code: CodeType) -> set[str]:
    """Return the names that code and the functions within it use."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*(_names(constant) for constant in inner))


def _version(module: str) -> str | None:
    """Return the version of the package that a module belongs to, or None if it has none."""
    top = module.partition(".")[0]
    if top in _OURS:
        return None
    if top in sys.stdlib_module_names:
        return "python"
    version = getattr(sys.modules.get(top), "__version__", None)
    return str(version) if version is not None else None
