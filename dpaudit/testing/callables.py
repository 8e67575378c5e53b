"""Plain Python callables as mechanisms."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

from dpaudit.engine import BlockMechanism, Mechanism, PerTrial
from dpaudit.errors import ParameterError, shown

Form: TypeAlias = Literal["auto", "block", "seeded", "unseeded"]
"""``f(data, trials, rng)``, ``f(data, rng)`` or ``f(data)``; "auto" counts the parameters."""


def as_callable_mechanism(mechanism: Any, *, form: Form = "auto") -> Mechanism:
    """Return a callable as a mechanism.

    Parameters
    ----------
    mechanism : callable or Mechanism
        What is audited; one that is a `~dpaudit.engine.Mechanism` already is returned as it is.
    form : {"auto", "block", "seeded", "unseeded"}
        What it is called with.

    Raises
    ------
    ParameterError
        If it cannot be called, or its parameters do not say how.
    """
    if form not in get_args(Form):
        raise ParameterError(f"form = {form!r}: allowed are {', '.join(get_args(Form))}")
    if isinstance(mechanism, Mechanism) and not isinstance(mechanism, type):
        return mechanism
    if not callable(mechanism):
        raise ParameterError(f"mechanism = {shown(mechanism)}: a callable is needed")
    found = _form(mechanism) if form == "auto" else form
    if found == "block":
        return BlockMechanism(mechanism)
    return PerTrial(mechanism, seedable=found == "seeded")


def _form(function: Callable[..., Any]) -> Form:
    """Count the parameters without a default that take positions."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    forms: dict[int, Form] = {1: "unseeded", 2: "seeded", 3: "block"}
    if len(needed) not in forms or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        raise ParameterError(
            f"{shown(getattr(function, '__name__', function))}: it takes {len(needed)} arguments: "
            "f(data), f(data, rng) or f(data, trials, rng) is needed, or form="
        )
    return forms[len(needed)]
