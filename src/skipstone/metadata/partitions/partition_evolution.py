"""Making and changing partition specs.

Laws: an equivalent spec that the table already has is used again, and from v2 on so is the field id of an equivalent
field of any older spec; ids are never given twice. In v1, where readers number fields by position, a dropped field
stays as void, the order stays, and new fields come last.

Spec: "Partitioning", "Partition Evolution".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from skipstone.errors import AlreadyExists, InvalidInput, NotFound, Unsupported, what_exists
from skipstone.metadata.partitions.partitioning import (
    PARTITION_FIELD_ID_START,
    PartitionField,
    PartitionSpec,
    check_field,
    check_name,
)
from skipstone.metadata.partitions.terms import Term, parse_term, transform_of
from skipstone.metadata.partitions.transforms import (
    IDENTITY,
    VOID,
    BucketTransform,
    IdentityTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
)
from skipstone.metadata.schema import Schema

_IDS_TRACKED_SINCE: Final = 2


def default_name(column: str, transform: Transform, *, with_parameter: bool) -> str:
    """The name of a partition field that was given none, as Iceberg Java chooses it.

    A new table has `id_bucket`, a spec update adds `id_bucket_16`: an evolved table may hold several of them.
    """
    match transform:
        case IdentityTransform():
            return column
        case BucketTransform(num_buckets):
            return f"{column}_bucket_{num_buckets}" if with_parameter else f"{column}_bucket"
        case TruncateTransform(width):
            return f"{column}_trunc_{width}" if with_parameter else f"{column}_trunc"
        case VoidTransform():
            return f"{column}_null"
        case _:
            return f"{column}_{transform}"


def build_spec(
    schema: Schema, terms: Iterable[str | Term], *, spec_id: int = 0, case_sensitive: bool = True
) -> PartitionSpec:
    """The spec of a new table, from terms such as `state` and `day(ts)`."""
    fields: list[PartitionField] = []
    for given in terms:
        term = parse_term(given) if isinstance(given, str) else given
        source = schema.field(term.column, case_sensitive=case_sensitive)
        field = PartitionField(
            source_ids=(source.id,),
            field_id=PARTITION_FIELD_ID_START + len(fields),
            name=default_name(schema.name_of(source.id), term.transform, with_parameter=False),
            transform=term.transform,
        )
        if any((f.source_ids, f.transform) == (field.source_ids, field.transform) for f in fields):
            raise InvalidInput(f"Invalid partition spec: expected each term once, got {given!r} twice.")
        check_field(field, schema)
        check_name(field, schema)
        fields.append(field)
    spec = PartitionSpec(spec_id=spec_id, fields=tuple(fields))
    spec.check_writable()
    return spec


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecChange:
    """The outcome of an update: the spec to use from now on, and the table's new `last-partition-id`."""

    spec: PartitionSpec
    last_partition_id: int
    is_new: bool  # false when the table has the spec already


@dataclass(slots=True)
class _Slot:
    """A field on its way into the new spec."""

    field: PartitionField
    is_new: bool = False
    is_dropped: bool = False


class PartitionSpecUpdate:
    """Changes to a table's default spec, in the order they are called; `result` gives the new spec."""

    def __init__(
        self,
        *,
        schema: Schema,
        specs: Sequence[PartitionSpec],
        default_spec_id: int,
        format_version: int,
        last_partition_id: int,
        case_sensitive: bool = True,
    ) -> None:
        base = next((s for s in specs if s.spec_id == default_spec_id), None)
        if base is None:
            ids = [str(s.spec_id) for s in specs]
            raise NotFound(
                f"Cannot find partition spec {default_spec_id}. "
                + what_exists("Partition specs", str(default_spec_id), ids)
            )
        self._schema = schema
        self._specs = sorted(specs, key=lambda s: s.spec_id)
        self._keeps_positions = format_version < _IDS_TRACKED_SINCE
        self._last_partition_id = max(last_partition_id, *(s.highest_field_id for s in specs))
        self._case_sensitive = case_sensitive
        self._slots = [_Slot(f) for f in base.fields]

    def add_field(
        self, source: str, transform: Transform | str = IDENTITY, name: str | None = None
    ) -> PartitionSpecUpdate:
        """Partition by a transform of a column, under `name` or the name it had before or the default one."""
        column = self._schema.field(source, case_sensitive=self._case_sensitive)
        wanted = transform_of(transform)
        if isinstance(wanted, UnknownTransform):
            raise Unsupported(
                f"Cannot add a partition field with transform {str(wanted)!r}: this version does not know it."
            )
        known = self._slot_of((column.id,), wanted)
        if known is not None and not known.is_dropped:
            raise AlreadyExists(f"Cannot add partition field {wanted}({source}): '{known.field.name}' has it already.")
        if known is not None:
            known.is_dropped = False
            return self if name in (None, known.field.name) else self.rename_field(known.field.name, str(name))
        field = self._numbered(column.id, wanted, name)
        check_field(field, self._schema)
        check_name(field, self._schema)
        self._free_name(field.name)
        self._slots.append(_Slot(field, is_new=True))
        return self

    def add_term(self, term: str | Term, name: str | None = None) -> PartitionSpecUpdate:
        """`add_field` for a term such as `bucket(16, id)`."""
        parsed = parse_term(term) if isinstance(term, str) else term
        return self.add_field(parsed.column, parsed.transform, name)

    def remove_field(self, name: str) -> PartitionSpecUpdate:
        slot = self._live(name, "remove")
        if slot.is_new:
            raise InvalidInput(f"Cannot remove partition field '{name}': this update added it. Leave out both.")
        if self._keeps_positions and slot.field.is_void:
            raise InvalidInput(f"Cannot remove partition field '{name}': it is void already, and v1 keeps its place.")
        slot.is_dropped = True
        return self

    def remove_term(self, term: str | Term) -> PartitionSpecUpdate:
        """`remove_field` by column and transform."""
        parsed = parse_term(term) if isinstance(term, str) else term
        column = self._schema.field(parsed.column, case_sensitive=self._case_sensitive)
        slot = self._slot_of((column.id,), parsed.transform)
        if slot is None or slot.is_dropped:
            raise NotFound(
                f"Cannot remove partition field {parsed.transform}({parsed.column}). {self._what_exists('')}"
            )
        return self.remove_field(slot.field.name)

    def rename_field(self, name: str, new_name: str) -> PartitionSpecUpdate:
        slot = self._live(name, "rename")
        if name == new_name:
            return self
        renamed = replace(slot.field, name=new_name)
        check_name(renamed, self._schema)
        self._free_name(new_name)
        slot.field = renamed
        return self

    def reorder(self, names: Sequence[str]) -> PartitionSpecUpdate:
        """Put the fields in the order of these names, which must be all of them."""
        if self._keeps_positions:
            raise InvalidInput("Cannot reorder partition fields of a v1 table: its readers go by position. Upgrade it.")
        live = {s.field.name: s for s in self._slots if not s.is_dropped}
        if sorted(names) != sorted(live):
            raise InvalidInput(
                f"Cannot reorder partition fields: expected each of {', '.join(live)} once, got {', '.join(names)}."
            )
        self._slots = [live[n] for n in names] + [s for s in self._slots if s.is_dropped]
        return self

    def result(self) -> SpecChange:
        """The spec after all changes, with an id: an equivalent spec's when there is one."""
        fields = []
        for slot in self._slots:
            if not slot.is_dropped:
                fields.append(slot.field)
            elif self._keeps_positions:
                fields.append(replace(slot.field, transform=VOID))
        spec = PartitionSpec(spec_id=self._specs[-1].spec_id + 1, fields=tuple(fields))
        spec.check(self._schema)
        spec.check_writable()
        known = next((s for s in self._specs if s.compatible_with(spec)), None)
        chosen = spec if known is None else known
        last = max(self._last_partition_id, chosen.highest_field_id) if known is None else self._last_partition_id
        return SpecChange(spec=chosen, last_partition_id=last, is_new=known is None)

    def _numbered(self, source_id: int, transform: Transform, name: str | None) -> PartitionField:
        """A new field under the id of its equivalent in an older spec, or under a new one."""
        if not self._keeps_positions:
            used = {s.field.field_id for s in self._slots}
            for spec in reversed(self._specs):
                for f in spec.fields:
                    same = f.source_ids == (source_id,) and f.transform == transform and name in (None, f.name)
                    if same and f.field_id not in used:
                        return f
        highest = max((s.field.field_id for s in self._slots), default=0)
        return PartitionField(
            source_ids=(source_id,),
            field_id=max(self._last_partition_id, highest) + 1,
            name=name or default_name(self._schema.name_of(source_id), transform, with_parameter=True),
            transform=transform,
        )

    def _free_name(self, name: str) -> None:
        """Make way for a name: a void or dropped field gives its own up, a live one does not."""
        for slot in self._slots:
            if slot.field.name != name:
                continue
            if not slot.is_dropped and not slot.field.is_void:
                raise AlreadyExists(
                    f"Cannot name a partition field '{name}': another one has the name. Choose another."
                )
            taken = {s.field.name for s in self._slots}
            free = f"{name}_{slot.field.field_id}"
            while free in taken:
                free = f"{free}_{slot.field.field_id}"
            slot.field = replace(slot.field, name=free)

    def _slot_of(self, source_ids: tuple[int, ...], transform: Transform) -> _Slot | None:
        return next(
            (s for s in self._slots if s.field.source_ids == source_ids and s.field.transform == transform), None
        )

    def _live(self, name: str, verb: str) -> _Slot:
        for slot in self._slots:
            if slot.field.name == name and not slot.is_dropped:
                return slot
        raise NotFound(f"Cannot {verb} partition field '{name}'. {self._what_exists(name)}")

    def _what_exists(self, name: str) -> str:
        return what_exists("Partition fields", name, [s.field.name for s in self._slots if not s.is_dropped])
