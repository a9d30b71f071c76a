"""The analysis of one data file: from its rows to a summary of each column. What a task of a cluster runs.

Laws: rows that deletes remove are left out. A file is read once, and of a Parquet file nothing that its footer proves
where no more is wanted; text whose column chunks are dictionary-encoded is never decoded. `FileAnalysis` pickles, and
so does what it returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from skipstone.analysis.collect import ColumnCollector, Wishes
from skipstone.analysis.footer_facts import told_columns
from skipstone.analysis.hands import Hands
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import BinaryType, Field, PrimitiveType, StringType, StructType
from skipstone.plan.scan import ScanPlan
from skipstone.read.opened import damaged
from skipstone.read.rows import read_plan
from skipstone.stats.summary import FileSummary
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute
pq: Any = pyarrow.parquet

# Indices of a dictionary take at most this much a value, and the dictionary itself at most the other.
_INDEX_BYTES: Final = 2.5
_DICTIONARY_BYTES: Final = 2 << 20


def analysed_leaves(schema: Schema) -> dict[int, Field]:
    """The columns that can be analysed: primitive ones outside lists and maps, by field id."""
    return {
        i: f
        for i, f in schema.fields_by_id.items()
        if isinstance(f.type, PrimitiveType) and not schema.is_in_list_or_map(i)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnalysis:
    """Analyses the files of a plan, each by its row. Share one among tasks, and give each the rows to do.

    Without `trusts_footers` nothing is taken from a footer, so that it can be held against the rows.
    """

    plan: ScanPlan
    storage: Storage
    field_ids: tuple[int, ...]
    wishes: Wishes = field(default_factory=Wishes)
    uses_dictionaries: bool = True
    trusts_footers: bool = True
    threads: int = 1

    def analyse(self, row: int) -> FileSummary:
        """The summary of one file of the plan, without its deleted rows."""
        files = self.plan.files
        path, num_rows = (files.column(n)[row].as_py() for n in ("file_path", "record_count"))
        leaves = analysed_leaves(self.plan.schema)
        collectors = {i: ColumnCollector(i, leaves[i].type, num_rows, self.wishes) for i in self.field_ids}  # type: ignore[arg-type]
        with Hands(self.threads) as hands:
            footer = self._footer(row, path)
            done, encoded = self._from_footer(footer, path, collectors)
            text_done = hands.begin(lambda: self._from_dictionaries(footer, path, encoded, collectors))
            rest = [i for i in self.field_ids if i not in done and i not in encoded]
            live = self._from_rows(row, rest, collectors, hands)
            text_done()
            columns = hands.each(lambda i: collectors[i].finish(), self.field_ids)
        return FileSummary(
            file_path=path,
            row_count=columns[0].value_count if columns else live,
            deletes_key=deletes_key(self.plan, row),
            columns=tuple(columns),
        )

    def _from_rows(
        self, row: int, field_ids: Sequence[int], collectors: dict[int, ColumnCollector], hands: Hands
    ) -> int:
        """Any file, with everything that reading does: deletes, defaults, promotion, name mapping."""
        if not field_ids and self.field_ids:
            return 0
        schema = self.plan.schema
        chosen = schema.select([schema.name_of(i) for i in field_ids]).fields if field_ids else ()
        wanted = StructType(tuple(chosen))
        paths = {i: _path(wanted, i) for i in field_ids}
        one = replace(self.plan, files=self.plan.files.slice(row, 1))
        live = 0
        for batch in read_plan(one, self.storage, wanted=wanted, threads=self.threads):
            live += batch.num_rows
            hands.each(lambda i: collectors[i].add(_column(batch, paths[i])), field_ids)  # noqa: B023, each is done here
        return live

    def _footer(self, row: int, path: str) -> Any:
        """The footer of a Parquet file without deletes, whose rows are just those that are stored; None of others."""
        files = self.plan.files
        is_plain = (
            files.column("file_format")[row].as_py().lower() == "parquet"
            and not files.column("deletes")[row].as_py()
            and not files.column("key_metadata")[row].is_valid
        )
        if not is_plain:
            return None
        try:
            with self.storage.open(path) as source:
                return pq.read_metadata(source)
        except (pa.ArrowException, OSError) as error:
            raise damaged(path, "footer", error) from error

    def _from_footer(
        self, footer: Any, path: str, collectors: dict[int, ColumnCollector]
    ) -> tuple[set[int], dict[int, str]]:
        """The columns that are done with, because all that is wanted of them is in the footer; and those of the
        others that are text or binary, with dictionary-encoded chunks, by name."""
        if footer is None:
            return set(), {}
        stored = {f.id: f for f in from_parquet_schema(footer.schema, source=path).fields}
        told = told_columns(footer, self.plan.schema, self.field_ids, stored) if self.trusts_footers else {}
        done = {i for i, column in told.items() if collectors[i].tell(column)}
        if not self.uses_dictionaries:
            return done, {}
        return done, _encoded_columns(footer, self.plan.schema, [i for i in self.field_ids if i not in done], stored)

    def _from_dictionaries(
        self, footer: Any, path: str, names: Mapping[int, str], collectors: dict[int, ColumnCollector]
    ) -> None:
        if not names:
            return
        columns = list(names.values())
        try:
            with self.storage.open(path) as source:
                reader = pq.ParquetFile(source, metadata=footer, read_dictionary=columns, pre_buffer=True)
                for group in range(footer.num_row_groups):
                    table = reader.read_row_group(group, columns=columns, use_threads=self.threads > 1)
                    for field_id, name in names.items():
                        for chunk in table.column(name).chunks:
                            collectors[field_id].add(chunk)
        except (pa.ArrowException, OSError) as error:
            raise damaged(path, "text columns", error) from error


def deletes_key(plan: ScanPlan, row: int) -> str:
    """What is deleted from a file of the plan, as a name: equal for equal deletes, "" for none."""
    rows = plan.files.column("deletes")[row].as_py()
    if not rows:
        return ""
    chosen = plan.deletes.take(pa.array(rows, pa.int64()))
    pairs = zip(chosen.column("file_path").to_pylist(), chosen.column("content_offset").to_pylist())
    text = "\n".join(sorted(f"{path} {offset}" for path, offset in pairs))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def deletes_keys(plan: ScanPlan) -> list[str]:
    """The same for every file of the plan; most have no deletes, and cost nothing."""
    keys = [""] * len(plan)
    counts = pc.fill_null(pc.list_value_length(plan.files.column("deletes")), 0).to_numpy()
    for row in np.flatnonzero(counts).tolist():
        keys[row] = deletes_key(plan, row)
    return keys


def files_key(plan: ScanPlan, without: Sequence[int] = ()) -> str:
    """The files of the plan but for some, and what is deleted from each, as a name."""
    left = np.ones(len(plan), np.bool_)
    left[list(without)] = False
    pairs = zip(plan.files.column("file_path").to_pylist(), deletes_keys(plan), left.tolist(), strict=True)
    text = "\n".join(sorted(f"{path} {key}" for path, key, is_left in pairs if is_left))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _path(struct: StructType, field_id: int) -> tuple[int, ...]:
    """The places that lead to a field: a column, then struct children."""
    for place, f in enumerate(struct.fields):
        if f.id == field_id:
            return (place,)
        if isinstance(f.type, StructType):
            below = _path(f.type, field_id)
            if below:
                return (place, *below)
    return ()


def _column(batch: Any, path: tuple[int, ...]) -> Any:
    column = batch.column(path[0])
    return column if len(path) == 1 else pc.struct_field(column, list(path[1:]))


def _encoded_columns(
    footer: Any, schema: Schema, field_ids: Sequence[int], stored: Mapping[int, Field]
) -> dict[int, str]:
    """Top-level text and binary columns, by field id, that the file stores as such and with dictionaries only."""
    leaves = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
    found: dict[int, str] = {}
    for field_id in field_ids:
        wanted, there = schema.find(field_id), stored.get(field_id)
        if wanted is None or there is None or not isinstance(wanted.type, StringType | BinaryType):
            continue
        index = leaves.get(there.name)
        if there.type == wanted.type and index is not None and "." not in there.name and _is_encoded(footer, index):
            found[field_id] = there.name
    return found


def _is_encoded(footer: Any, index: int) -> bool:
    """Whether all chunks of a column look dictionary-encoded throughout; a wrong guess costs time, nothing else."""
    for group in range(footer.num_row_groups):
        chunk = footer.row_group(group).column(index)
        if not chunk.has_dictionary_page:
            return False
        if chunk.total_uncompressed_size > chunk.num_values * _INDEX_BYTES + _DICTIONARY_BYTES:
            return False
    return bool(footer.num_row_groups > 0)
