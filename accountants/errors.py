"""The root of dpaudit's errors, and the one that accountants raise.

Every error a user can cause derives from :class:`DpauditError`; its ``str`` is the single line
shown to them.
"""


class DpauditError(Exception):
    """Base of every error that dpaudit raises on purpose."""


class ParameterError(DpauditError, ValueError):
    """A parameter lies outside the range for which a bound is defined."""


class MismatchError(ParameterError):
    """Two guarantees that are about different neighbours or views were to be combined."""
