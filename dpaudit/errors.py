"""The errors that dpaudit raises on purpose, each with a one-line message for the user.

``str(error)`` is the whole message: what is wrong, where, and what is allowed. The command line
prints it and exits with 2. Untrusted text (keys, values, file names) enters a message through
:func:`shown`, so that a message always stays on one line and carries no control characters.
"""

from accountants.errors import DpauditError, ParameterError

__all__ = [
    "AssetError",
    "DataError",
    "DeploymentError",
    "DpauditError",
    "InputError",
    "ModelError",
    "NotBuiltError",
    "ParameterError",
    "shown",
]


class InputError(DpauditError):
    """Something that the user handed over cannot be used: a file, texts, a model or an asset."""


class DeploymentError(InputError):
    """A deployment file is missing, malformed, or holds a key or value that is not allowed."""


class NotBuiltError(DeploymentError):
    """A deployment asks for a view or an adjacency that dpaudit names but does not offer yet."""


class DataError(InputError):
    """The texts cannot be read, or are too few to audit."""


class ModelError(InputError):
    """An embedding model cannot be found or loaded, or does not fit the deployment."""


class AssetError(InputError):
    """An optional asset cannot be downloaded, or is not the file that was pinned."""


def shown(text: object, *, limit: int = 80) -> str:
    """Return ``text`` on one line: unprintable characters escaped, long text cut.

    Parameters
    ----------
    text : object
        Anything with a ``str``; a key, a value or a path that came from outside.
    limit : int
        Number of characters kept; what follows becomes ``...``.
    """
    whole = str(text)
    cut = whole if len(whole) <= limit else whole[: limit - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
