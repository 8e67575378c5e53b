"""Releases for an attack to learn from, gathered from the blocks of the training phase."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from dpaudit.engine.attack_scores import Attack
from dpaudit.engine.outcomes import BlockOutcome
from dpaudit.errors import ParameterError


def fitted(attack: Attack, inside: Any | None, outside: Any | None) -> Attack | None:
    """Return a copy of the attack, fitted to releases of both sides.

    Parameters
    ----------
    attack : Attack
        With ``fit(releases_in, releases_out)``; it is not changed.
    inside, outside : object or None
        Releases with and without the canary; None if every trial failed.

    Returns
    -------
    Attack or None
        None if a side has no releases: then only failures can tell the sides apart.
    """
    if inside is None or outside is None:
        return None
    learner: Any = deepcopy(attack)
    returned = learner.fit(inside, outside)
    scorer: Attack = learner if returned is None or not hasattr(returned, "score") else returned
    return scorer


def joined(outcomes: Sequence[BlockOutcome]) -> Any | None:
    """Put the releases of several blocks together.

    Parameters
    ----------
    outcomes : sequence of BlockOutcome
        The blocks, in order.

    Returns
    -------
    object or None
        An array or tensor if every block gave one of the same trailing shape, else a list; None if
        there are no releases.

    Raises
    ------
    ParameterError
        If the releases are neither arrays, tensors nor sequences.
    """
    parts = [outcome.releases for outcome in outcomes if outcome.releases is not None]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        if len({(part.shape[1:], part.dtype) for part in parts}) == 1:
            return np.concatenate(parts)
    elif all(type(part).__module__.partition(".")[0] == "torch" for part in parts):
        import torch

        return torch.cat(parts)
    for part in parts:
        if not isinstance(part, list | tuple | np.ndarray):
            raise ParameterError(
                f"releases of type {type(part).__name__} cannot be put together for an attack that "
                "learns: allowed are arrays, tensors, lists and tuples"
            )
    return [release for part in parts for release in part]
