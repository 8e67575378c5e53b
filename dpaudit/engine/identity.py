"""What makes an audit the audit it is: kept in its store, compared when it is resumed."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

import dpaudit
from dpaudit.engine.attack_scores import Attack
from dpaudit.engine.fingerprint import fingerprint, qualified_name
from dpaudit.engine.mechanism import Mechanism
from dpaudit.engine.plan import Plan
from dpaudit.errors import shown

FORMAT = 1
"""Version of the store's layout."""


def audit_identity(
    mechanism: Mechanism,
    attack: Attack,
    *,
    data_out: Any,
    data_in: Any,
    plan: Plan,
    seed: int,
    settings: Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Describe an audit, and say what the description cannot see.

    Parameters
    ----------
    mechanism, attack : object
        What is audited, and by what.
    data_out, data_in : object
        The data of both sides.
    plan : Plan
        The trials.
    seed : int
        Their seed.
    settings : mapping
        Everything else that the result depends on, plain values.

    Returns
    -------
    config : dict
        Plain values for JSON.
    notes : tuple of str
        One sentence for each thing that may change unnoticed.
    """
    notes: list[str] = []
    config = {
        "format": FORMAT,
        "mechanism": _described("mechanism", mechanism, notes),
        "attack": _described("attack", attack, notes),
        "data_out": _hashed("data_out", data_out, notes),
        "data_in": _hashed("data_in", data_in, notes),
        "seed": seed,
        "trials": plan.trials,
        "block": plan.block,
        "training_blocks": plan.training,
        "selection_blocks": plan.selection,
        **settings,
        "dpaudit": dpaudit.__version__,
        "numpy": np.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }
    return config, tuple(notes)


def changes(stored: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """Say what differs between two descriptions.

    Parameters
    ----------
    stored, current : mapping
        Two descriptions.

    Returns
    -------
    list of str
        One entry a changed value: where, what it was, what it is now.
    """
    before, after = _flat(stored), _flat(current)
    return [
        f"{name} was {shown(before.get(name, 'absent'), limit=70)}, "
        f"is {shown(after.get(name, 'absent'), limit=70)}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name, _ABSENT) != after.get(name, _ABSENT)
    ]


_ABSENT = object()


def _described(role: str, value: Any, notes: list[str]) -> dict[str, Any]:
    """Name a mechanism or an attack and hash it."""
    found = fingerprint(value)
    version = getattr(value, "version", None)
    if found.unseen and version is None:
        notes.append(
            f"a change in {', '.join(map(shown, found.unseen))}, part of the {role}, would not be "
            "noticed on resuming; name its state by version="
        )
    function = getattr(value, "function", None)
    described: dict[str, Any] = {
        "kind": type(value).__name__,
        "name": qualified_name(value if function is None else function),
        "version": None if version is None else str(version),
        "sha256": found.sha256,
    }
    if role == "mechanism":
        described["seedable"] = bool(value.seedable)
    return described


def _hashed(role: str, value: Any, notes: list[str]) -> str:
    """Hash data."""
    found = fingerprint(value)
    if found.unseen:
        notes.append(
            f"a change in {', '.join(map(shown, found.unseen))}, part of {role}, would "
            "not be noticed on resuming"
        )
    return found.sha256


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested mappings as one, their keys joined by dots."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat
