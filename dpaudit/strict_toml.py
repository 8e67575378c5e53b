"""Read a TOML file and turn a failed validation into one line that a person can act on.

A schema here is a pydantic model whose fields are sections, each section a pydantic model whose
fields are keys. The ``description`` of a key's field says what is allowed there, in words that
complete the sentence ``[section] key = value: ... is needed``.
"""

import tomllib
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from dpaudit.errors import DeploymentError, shown

MAX_BYTES = 1 << 20
"""A larger file is refused: no deployment file comes near this size."""

_SURE = 0.6  # similarity from which on a key is taken for a misspelling of another


def read_toml(path: Path) -> dict[str, object]:
    """Return the tables of the TOML file at ``path``.

    Raises
    ------
    DeploymentError
        If the file is missing, unreadable, too large, not UTF-8, or not TOML.
    """
    source = shown(path, limit=200)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or error
        raise DeploymentError(f"{source}: cannot be read: {reason}") from None
    if len(raw) > MAX_BYTES:
        raise DeploymentError(f"{source}: larger than {MAX_BYTES >> 20} MiB; not a deployment file")
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        # The offset counts from the end of a byte order mark, where there is one.
        at = error.start + (3 if raw.startswith(b"\xef\xbb\xbf") else 0)
        raise DeploymentError(f"{source}: not UTF-8 text (byte {at})") from None
    except RecursionError:
        raise DeploymentError(f"{source}: not TOML: nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise DeploymentError(f"{source}: not TOML: {shown(error, limit=200)}") from None
    except ValueError:  # Python refuses to read an integer of thousands of digits
        raise DeploymentError(f"{source}: not TOML: a number has too many digits") from None


def one_line(error: ValidationError, schema: type[BaseModel]) -> str:
    """Return the first thing wrong, and how many more there are.

    Unknown keys come first: a misspelt key is also a missing one, and is counted once.
    """
    unknown: list[str] = []
    missing: dict[tuple[str, ...], str] = {}
    others: list[str] = []
    for found in error.errors(include_url=False):
        where = tuple(str(part) for part in found["loc"])
        match found["type"]:
            case "extra_forbidden":
                text, meant = _unknown(where, schema)
                unknown.append(text)
                missing.pop(meant, None)
            case "missing":
                missing[where] = f"{_place(where)} is missing{_hint(where, schema)}"
            case "default_factory_not_called":
                pass  # the default depends on a key that has its own error
            case "cross_field":  # one of the whole file names its section itself
                others.append(f"{_place(where)} {found['msg']}" if where else found["msg"])
            case _:
                others.append(_not_allowed(where, found["input"], schema))
    problems = [*unknown, *others, *missing.values()]
    more = len(problems) - 1
    return problems[0] + (f" (and {more} more)" if more else "")


def nearest(word: str, candidates: Iterable[str]) -> tuple[str, float]:
    """Return the candidate most like ``word``, case aside, and its similarity in [0, 1]."""
    typed = word.lower()

    def likeness(candidate: str) -> float:
        ratio = SequenceMatcher(None, typed, candidate.lower()).ratio()
        part = len(typed) >= 3 and typed in candidate.lower()  # seed, for projection_seed
        return max(ratio, _SURE) if part else ratio

    best = max(candidates, key=likeness)
    return best, likeness(best)


def _unknown(where: Sequence[str], schema: type[BaseModel]) -> tuple[str, tuple[str, ...]]:
    """Return the message for an unknown key, and the place that was probably meant."""
    *parents, key = where
    name = f"'{shown(key)}'"
    if not parents:
        sections = list(schema.model_fields)
        owner = _owner(key, schema)
        if owner:
            return f"unknown key {name} outside any section; it belongs in [{owner}]", (owner, key)
        best, _ = nearest(key, sections)
        listed = ", ".join(f"[{section}]" for section in sections)
        return f"unknown section or key {name}; did you mean [{best}]? Sections: {listed}", (best,)
    section = parents[0]
    keys = list(_section(schema, section).model_fields)
    best, likeness = nearest(key, keys)
    text = f"unknown key {name} in [{section}]"
    if likeness >= _SURE:
        return f"{text}; did you mean '{best}'?", (section, best)
    owner = _owner(key, schema)
    if owner:
        return f"{text}; it belongs in [{owner}] (nearest key here: '{best}')", (owner, key)
    return f"{text}; the nearest valid key is '{best}', of {', '.join(keys)}", (section, best)


def _owner(key: str, schema: type[BaseModel]) -> str | None:
    """Return the section that has a key of exactly this name."""
    for section in schema.model_fields:
        if key in _section(schema, section).model_fields:
            return section
    return None


def _not_allowed(where: Sequence[str], value: object, schema: type[BaseModel]) -> str:
    if len(where) < 2:
        named = f"[{where[0]}]" if where else "the file"
        return f"{named} = {_value(value)}: a table of keys is needed"
    return f"{_place(where)} = {_value(value)}{_hint(where, schema)} is needed"


def _place(where: Sequence[str]) -> str:
    section, *keys = where
    return " ".join([f"[{shown(section)}]", *(shown(key) for key in keys)])


def _hint(where: Sequence[str], schema: type[BaseModel]) -> str:
    """Return ': ' and what is allowed at a key; nothing for a whole section."""
    if len(where) < 2:
        return ""
    field = _section(schema, where[0]).model_fields[where[1]]
    return f": {field.description}"


def _section(schema: type[BaseModel], name: str) -> type[BaseModel]:
    """Return the model of a section, which may be optional."""
    field: FieldInfo = schema.model_fields[name]
    kinds: Sequence[Any] = (field.annotation, *get_args(field.annotation))
    return next(k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # as TOML writes it
    try:
        return shown(repr(value))
    except ValueError:  # Python refuses to print an integer of thousands of digits
        return "(a number too long to print)"
