"""The whole exception tree, split by what the caller must do next.

    SkipstoneError
    ├── InvalidInput            the caller passed something wrong: correct it and call again
    ├── NotFound                a named thing does not exist: the message lists what does
    ├── AlreadyExists           a name is taken: choose another or open the existing thing
    ├── FormatViolation         bytes in storage contradict the spec: the file is damaged or foreign
    ├── Unsupported             valid, but not something this version can do
    │   └── UnknownVersion      of a format version from the future; also a FormatViolation
    ├── CommitRejected          nothing was published: retry is safe
    └── CommitOutcomeUnknown    the catalog did not answer: never delete the new files

Every message follows one grammar: Cannot or Invalid, what, where, then expected and got, then the next step.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SkipstoneError(Exception):
    """Base of everything this package raises on purpose."""


class InvalidInput(SkipstoneError, ValueError):
    """The caller passed something wrong."""


class NotFound(SkipstoneError, LookupError):
    """A named thing does not exist."""


class AlreadyExists(SkipstoneError):
    """A name is taken."""


class FormatViolation(SkipstoneError, ValueError):
    """Bytes in storage contradict the spec."""


class Unsupported(SkipstoneError, NotImplementedError):
    """Valid, but not something this version can do."""


class UnknownVersion(FormatViolation, Unsupported):
    """A file says a format version that the spec did not have yet: damaged, foreign, or for a newer release."""


class CommitRejected(SkipstoneError):
    """Nothing was published; retry is safe."""


class CommitOutcomeUnknown(SkipstoneError):
    """The catalog did not answer; the commit may have happened."""


def what_exists(kind: str, wanted: str, names: Iterable[str], *, shown_max: int = 20) -> str:
    """The tail of a not-found message: what there is, and the nearest name."""
    known = list(names)
    if not known:
        return f"There are no {kind.lower()}."
    listed = ", ".join(known[:shown_max])
    if len(known) > shown_max:
        listed += f", and {len(known) - shown_max} more"
    near = get_close_matches(wanted, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{kind}: {listed}.{hint}"
