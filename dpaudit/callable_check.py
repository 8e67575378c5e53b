"""``dpaudit check``: audit a callable that a module holds, as a black box."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import dpaudit
from dpaudit.engine import audit
from dpaudit.errors import InputError, ParameterError, shown
from dpaudit.testing.callables import Form, as_callable_mechanism
from dpaudit.verification import EXIT_CODES, OPEN, REFUTED


def check_callable(
    name: str,
    *,
    epsilon: float,
    delta: float = 0.0,
    data_in: str = "1",
    data_out: str = "0",
    trials: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    form: Form = "auto",
    workers: int = 1,
    progress: bool = False,
) -> dict[str, Any]:
    """Audit ``module:function`` against a claim.

    Parameters
    ----------
    name : str
        The module is imported (its code runs) from the current folder or from what is installed;
        the function is called as :func:`dpaudit.testing.callables.as_callable_mechanism` says.
    epsilon, delta : float
        The claim.
    data_in, data_out : str
        Two neighbouring inputs, as JSON.
    trials, confidence, seed, workers, progress
        As in :func:`dpaudit.engine.audit`.
    form : {"auto", "block", "seeded", "unseeded"}
        How the function is called.

    Returns
    -------
    dict
        ``verdict`` ("refuted" or "open": an attack proves nothing), ``exit_code``, ``sentence`` and
        what :meth:`~dpaudit.engine.AuditResult.to_dict` holds, under ``result``.

    Raises
    ------
    InputError, ParameterError
        If there is no such function, or a value is not allowed.
    """
    mechanism = as_callable_mechanism(_found(name), form=form)
    result = audit(
        mechanism,
        data_in=_value("in", data_in),
        data_out=_value("out", data_out),
        epsilon=epsilon,
        delta=delta,
        trials=trials,
        confidence=confidence,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    verdict = REFUTED if result.refuted else OPEN
    return {
        "dpaudit": dpaudit.__version__,
        "command": "check",
        "mechanism": name,
        "verdict": verdict,
        "exit_code": EXIT_CODES[verdict],
        "sentence": str(result),
        "result": result.to_dict(),
    }


def _found(name: str) -> Any:
    """Import a module and return what it calls so."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ParameterError(f"{shown(name)}: module:function is needed")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
    except Exception as problem:
        raise InputError(
            f"{shown(module)}: cannot be imported: {type(problem).__name__}: "
            f"{shown(problem, limit=200)}"
        ) from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InputError(f"{shown(module)}: it has no {shown(attribute)}")
        found = getattr(found, part)
    return found


def _value(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ParameterError(f"{name} = '{shown(text)}': JSON is needed") from None
