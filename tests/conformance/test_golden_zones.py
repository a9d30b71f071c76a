"""Statistics inside the files of Iceberg Java: row groups, pages, dictionaries and stripes cover the values read."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.orc as orc
import pyarrow.parquet as pq

from skipstone.metadata.formats.arrow_convert import convert_array
from skipstone.metadata.formats.orc_types import from_orc_schema
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.schemas.fresh_ids import has_any_id
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.types import PrimitiveType
from skipstone.zones import ColumnFacts
from skipstone.zones.build import FileBytes, from_orc_stripes, from_page_index, from_parquet_footer
from skipstone.zones.build.parquet_columns import StoredColumn, parquet_columns
from skipstone.zones.build.parquet_structures import read_footer
from skipstone.zones.dictionaries import read_dictionary

pc: Any = compute


def _covers(facts: ColumnFacts, zone: int, values: Any, where: str) -> bool:
    """Check the facts of one zone against its values; whether there were bounds to check."""
    if facts.null_count is not None and facts.null_count[zone].is_valid:
        assert facts.null_count[zone].as_py() == values.null_count, where
    if facts.lower is None or not facts.lower[zone].is_valid or facts.lower.type != values.type:
        return False
    known = values.drop_null()
    assert pc.all(pc.greater_equal(known, facts.lower[zone]), min_count=0).as_py(), where
    assert pc.all(pc.less_equal(known, facts.upper[zone]), min_count=0).as_py(), where
    return True


def _values(array: Any, type_: PrimitiveType, where: str) -> Any:
    converted = convert_array(array, type_, where=where)
    return converted.storage if isinstance(converted, pa.ExtensionArray) else converted


def _check_parquet(path: Path, seen: Counter[str]) -> None:
    data = path.read_bytes()
    try:
        file = pq.ParquetFile(io.BytesIO(data))
    except (OSError, pa.ArrowException):
        seen["encrypted"] += 1
        return
    struct = from_parquet_schema(file.metadata.schema)
    if not has_any_id(struct):
        return
    content = FileBytes.of_buffer(data, path.name)
    footer = read_footer(content)
    projection = resolve(struct, struct)
    zones = from_parquet_footer(file.metadata, projection)
    for field_id, column in parquet_columns(file.metadata.schema, projection).items():
        assert isinstance(column, StoredColumn)
        for group in range(file.metadata.num_row_groups):
            name = file.metadata.row_group(group).column(column.index).path_in_schema
            array: Any = file.read_row_group(group, columns=[name]).column(0).combine_chunks()
            for part in name.split(".")[1:]:
                array = pc.struct_field(array, part)
            values = _values(array, column.type, name)
            where = f"{path.name} {name} row group {group}"
            seen["row group bounds"] += _covers(zones.columns[field_id], group, values, where)
            dictionary = read_dictionary(content, footer.chunks[group][column.index], column, strict=True)
            if dictionary is not None:
                assert pc.all(pc.is_in(values.drop_null(), dictionary), min_count=0).as_py(), where
                seen["dictionaries"] += 1
            pages = from_page_index(content, footer, group, column, strict=True)
            for page in range(0 if pages is None else pages.zones.num_zones):
                assert pages is not None
                start, end = int(pages.starts[page]), int(pages.starts[page + 1])
                part_of = values.slice(start, end - start)
                seen["page bounds"] += _covers(pages.zones.columns[field_id], page, part_of, f"{where} page {page}")


def test_parquet_statistics_of_iceberg_java_cover_the_values(golden: Path) -> None:
    seen: Counter[str] = Counter()
    for path in sorted(golden.rglob("*.parquet"))[::3]:
        _check_parquet(path, seen)
    assert min(seen["row group bounds"], seen["dictionaries"], seen["page bounds"]) > 100, seen


def test_orc_statistics_of_iceberg_java_cover_the_values(golden: Path) -> None:
    checked = 0
    for path in sorted(golden.rglob("*.orc")):
        data = path.read_bytes()
        file = orc.ORCFile(io.BytesIO(data))
        struct = from_orc_schema(file.schema)
        if not has_any_id(struct):
            continue
        zones = from_orc_stripes(FileBytes.of_buffer(data, path.name), resolve(struct, struct), strict=True)
        assert zones is not None and zones.num_zones == file.nstripes
        for field in struct.fields:
            facts = zones.columns.get(field.id)
            if facts is None or not isinstance(field.type, PrimitiveType):
                continue
            for stripe in range(file.nstripes):
                try:
                    array = file.read_stripe(stripe, columns=[field.name]).column(0)
                except pa.ArrowInvalid as error:
                    assert "out of range for nanosecond" in str(error)
                    continue
                values = _values(array, field.type, field.name)
                checked += _covers(facts, stripe, values, f"{path.name} {field.name} stripe {stripe}")
    assert checked > 100
