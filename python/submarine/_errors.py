"""What the package raises. Every message is one sentence: what is wrong, where, what was expected.

Each class is also one of Python's own, so that code which knows nothing of this package catches it as well.
"""

from __future__ import annotations


class Error(Exception):
    """Anything that this package raises on purpose."""


class InvalidInput(Error, ValueError):
    """Input that contradicts the definition of a model: wrong shapes, NaN, negative weights, no metric."""


class NotExpressible(Error, ValueError):
    """A legitimate model that this method, extension or file format cannot express."""


class FileError(Error, OSError):
    """A file that cannot be read, is malformed, or cannot be written."""


class TooLarge(Error, MemoryError):
    """A job that was refused before it started, for it would need more memory than allowed."""


class Interrupted(Error):
    """A callback asked for the end of work that has nothing to show before it is done."""


class TimeLimit(Interrupted, TimeoutError):
    """Such work was not done when its time limit passed."""


for _error in (Error, InvalidInput, NotExpressible, FileError, TooLarge, Interrupted, TimeLimit):
    _error.__module__ = "submarine"  # where users find them
