"""The two neighbouring datasets of an audit, and how they were chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from dpaudit.errors import ParameterError, shown

CanaryMode: TypeAlias = Literal["given", "worst case", "searched"]


@dataclass(frozen=True, kw_only=True, eq=False)
class CanaryPair:
    """Data with and without a canary.

    Attributes
    ----------
    data_in, data_out : object
        The datasets, as the mechanism takes them.
    mode : {"given", "worst case", "searched"}
        Who chose them.
    evidence : mapping
        What the choice rests on, plain values.
    """

    data_in: Any
    data_out: Any
    mode: CanaryMode = "given"
    evidence: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the mode and the evidence, without the data."""
        return {"mode": self.mode, **self.evidence}


class HasWorstCase(Protocol):
    """A mechanism, or its analysis, that knows its worst pair."""

    def worst_case(self) -> tuple[Any, Any]:
        """Return the data with and without the canary."""
        ...


def worst_case(analysis: HasWorstCase) -> CanaryPair:
    """Return the pair on which an analysis says the mechanism leaks most.

    Parameters
    ----------
    analysis : object
        With a method ``worst_case() -> (data_in, data_out)``.

    Returns
    -------
    CanaryPair
        Of mode "worst case".

    Raises
    ------
    ParameterError
        If it has no such method.
    """
    method = getattr(analysis, "worst_case", None)
    if not callable(method):
        raise ParameterError(
            f"{shown(analysis)}: it has no method worst_case() -> (data_in, data_out)"
        )
    inside, outside = method()
    return CanaryPair(data_in=inside, data_out=outside, mode="worst case")
