"""Terms as people write them: `state`, `day(ts)`, `bucket(16, id)`, `zip_code desc nulls last`.

A term names a source column and a transform; a sort term adds a direction and a null order. Columns with odd names
are written in backticks or double quotes. Binding to field ids happens where a schema is at hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
    parse_transform,
)

_FORMS: Final = "Write col, day(col), bucket(16, col) or truncate(10, col); put odd names in backticks."
_PLURALS: Final[dict[str, Transform]] = {"years": YEAR, "months": MONTH, "days": DAY, "hours": HOUR}
_PLAIN: Final[dict[str, Transform]] = {
    **_PLURALS, "year": YEAR, "month": MONTH, "day": DAY, "hour": HOUR, "identity": IDENTITY, "void": VOID,
}  # fmt: skip
_NAME: Final = r"`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[^\s,()`\"\[\]]+"
_COLUMN: Final = re.compile(_NAME)
_CALL: Final = re.compile(
    rf"(?P<function>\w+)\s*(?:\[\s*(?P<bracket>[0-9]{{1,19}})\s*\]\s*)?"
    rf"\(\s*(?:(?P<before>[0-9]{{1,19}})\s*,\s*)?(?P<column>{_NAME})\s*(?:,\s*(?P<after>[0-9]{{1,19}})\s*)?\)"
)
_SORT: Final = re.compile(
    r"(?P<term>.+?)(?:\s+(?P<direction>asc|desc))?(?:\s+nulls[\s-]+(?P<nulls>first|last))?\s*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A transform of a column that is not yet bound to a schema."""

    column: str
    transform: Transform


@dataclass(frozen=True, slots=True, kw_only=True)
class SortTerm:
    """A term with its direction; None where the text leaves it to the default."""

    term: Term
    descending: bool = False
    nulls_first: bool | None = None


def parse_term(text: str) -> Term:
    stripped = text.strip()
    if _COLUMN.fullmatch(stripped):
        return Term(column=_unquoted(stripped), transform=IDENTITY)
    call = _CALL.fullmatch(stripped)
    if call is None:
        raise InvalidInput(f"Invalid term {text!r}: expected a column or a transform of one. {_FORMS}")
    numbers = [call[g] for g in ("bracket", "before", "after") if call[g] is not None]
    return Term(column=_unquoted(call["column"]), transform=_transform(text, call["function"].lower(), numbers))


def parse_sort_term(text: str) -> SortTerm:
    found = _SORT.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"Invalid sort term {text!r}: expected a term, then asc or desc, then nulls first or last.")
    return SortTerm(
        term=parse_term(found["term"]),
        descending=(found["direction"] or "asc").lower() == "desc",
        nulls_first=None if found["nulls"] is None else found["nulls"].lower() == "first",
    )


def _transform(text: str, function: str, numbers: list[str]) -> Transform:
    if function in ("bucket", "truncate"):
        if len(numbers) != 1:
            raise InvalidInput(
                f"Invalid term {text!r}: expected one number for {function}, got {len(numbers)}. {_FORMS}"
            )
        number = int(numbers[0])
        return BucketTransform(number) if function == "bucket" else TruncateTransform(number)
    if (plain := _PLAIN.get(function)) is None:
        known = ", ".join([*_PLAIN, "bucket", "truncate"])
        raise InvalidInput(f"Invalid term {text!r}: expected one of {known}, got {function}.")
    if numbers:
        raise InvalidInput(f"Invalid term {text!r}: expected no number for {function}, got {numbers[0]}.")
    return plain


def _unquoted(name: str) -> str:
    quote = name[0]
    return name[1:-1].replace(quote * 2, quote) if quote in '`"' else name


def transform_of(transform: Transform | str) -> Transform:
    """A transform given as itself, as JSON writes it, or in the plural that SQL writes."""
    if isinstance(transform, Transform):
        return transform
    return _PLURALS.get(transform.lower()) or parse_transform(transform)
