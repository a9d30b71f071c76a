"""Converted equality deletes delete the same rows: whatever the tables, keys, formats, partitions and other deletes."""

from __future__ import annotations

from typing import Any

import pyarrow
from hypothesis import given, settings
from hypothesis import strategies as st

import skipstone
from skipstone.commit import RowDelta
from skipstone.metadata.manifests.manifest import FileContent
from skipstone.write import write_equality_deletes

pa: Any = pyarrow

NUMBERS = st.none() | st.integers(-2, 2)
TEXTS = st.sampled_from([None, "", "a", "b", "é😀"])
ROWS = st.lists(st.fixed_dictionaries({"n": NUMBERS, "s": TEXTS}), min_size=1, max_size=8)
FORM = pa.schema([("n", pa.int64()), ("s", pa.string())])


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, Any]:
    kind = draw(st.sampled_from(["append", "append", "by value", "by value", "by position", "respec", "convert"]))
    match kind:
        case "append":
            return kind, draw(ROWS)
        case "by value":
            return kind, (draw(st.sampled_from([("n",), ("s",), ("n", "s")])), draw(ROWS))
        case "by position":
            return kind, draw(st.sampled_from(["n = 1", "s = 'a'", "n < 0", "s IS NULL"]))
        case "respec":
            return kind, draw(st.sampled_from(["bucket(2, n)", "truncate(1, s)"]))
    return kind, None


def delete_by_value(table: Any, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    ids = [table.schema.field(c).id for c in columns]
    sources = [i for f in table.spec.fields if not f.is_void for i in f.source_ids]
    stored = pa.Table.from_pylist(rows, schema=FORM).select(sorted({*columns, *map(table.schema.name_of, sources)}))
    deletes = write_equality_deletes(stored, metadata=table.metadata, storage=table.storage, equality_ids=ids)
    table.apply(RowDelta(files=deletes))


def seen(table: Any) -> list[tuple[Any, ...]]:
    lineage = ["_row_id", "_last_updated_sequence_number"] if table.format_version >= 3 else []
    columns = ["n", "s", "_file", "_pos", *lineage]
    return sorted((tuple(r.values()) for r in table.scan(columns=columns).to_arrow().to_pylist()), key=repr)


def equality_deletes(table: Any) -> int:
    plan = table.scan().plan()
    applying = plan.deletes.column("content").to_pylist().count(FileContent.EQUALITY_DELETES)
    live: int = table.inspect.delete_files().column("content").to_pylist().count(FileContent.EQUALITY_DELETES)
    assert applying <= live
    return live


@given(
    version=st.sampled_from([2, 3]),
    file_format=st.sampled_from(["parquet", "orc", "avro"]),
    partition=st.sampled_from([[], ["n"], ["truncate(1, s)"]]),
    story=st.lists(steps(), min_size=2, max_size=7),
)
@settings(max_examples=40, deadline=None)
def test_conversion_keeps_rows_files_and_lineage(
    version: int, file_format: str, partition: list[str], story: list[tuple[str, Any]], tmp_path_factory: Any
) -> None:
    directory = tmp_path_factory.mktemp("lake")
    lake = skipstone.catalog(f"sqlite:///{directory}/catalog.db", warehouse=str(directory))
    properties = {"write.delete.mode": "merge-on-read", "write.format.default": file_format}
    table: Any = lake.create_table("t.t", FORM, partition_by=partition, format_version=version, properties=properties)
    for kind, what in [*story, ("convert", None)]:
        match kind:
            case "append":
                table.append(pa.Table.from_pylist(what, schema=FORM))
            case "by value":
                delete_by_value(table, *what)
            case "by position":
                table.delete(what)
            case "respec":
                with table.update_spec() as spec:
                    for f in table.spec.fields:
                        spec.remove_field(f.name)
                    spec.add_term(what)
            case _:
                before, had = seen(table), equality_deletes(table)
                report = table.convert_equality_deletes()
                assert seen(table) == before
                assert report.equality_delete_files == had
                assert equality_deletes(table) == 0
                if had:
                    assert table.current_snapshot.operation == "replace"
                    assert table.current_snapshot.summary["total-equality-deletes"] == "0"
