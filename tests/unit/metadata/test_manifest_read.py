from __future__ import annotations

import copy
import io
import json
import struct
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import fastavro
import pyarrow as pa
import pytest
from tests.support.avro_files import SIZED
from tests.support.manifest_files import TABLE_SCHEMA, entry, entry_schema, field, header, manifest

from skipstone.errors import FormatViolation, InvalidInput, UnknownVersion
from skipstone.metadata.avro import reading
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, METRIC_COLUMNS, ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_read import read_manifest, read_manifest_header
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DOUBLE, LONG, Field


@pytest.fixture(params=[False, True], ids=["reference", "compiled"], autouse=True)
def decoder(request: pytest.FixtureRequest) -> Iterator[None]:
    with patch.object(reading, "_use_compiled", return_value=request.param):
        yield


def read(data: bytes, **wishes: Any) -> pa.Table:
    return read_manifest(data, source="m0.avro", **wishes)


def long(value: int) -> bytes:
    return struct.pack("<q", value)


# -- columns ---------------------------------------------------------------------------------------------------------


def test_flat_columns_have_the_names_and_types_of_the_contract() -> None:
    table = read(manifest([entry()]))
    flat = {name: type_ for name, type_ in ENTRY_COLUMNS.items() if name not in METRIC_COLUMNS}
    assert table.column_names == list(flat)
    assert {n: table.schema.field(n).type for n in flat} == {**flat, "partition": pa.struct([])}


def test_values_are_read_and_what_the_file_lacks_is_null() -> None:
    row = read(manifest([entry(3, split_offsets=[4, 100], equality_ids=[1], content=2)])).to_pylist()[0]
    assert row["file_path"] == "s3://b/t/00003.parquet"
    assert (row["status"], row["snapshot_id"], row["sequence_number"]) == (1, 7, None)
    assert (row["content"], row["split_offsets"], row["equality_ids"]) == (2, [4, 100], [1])
    assert row["first_row_id"] is row["referenced_data_file"] is row["content_offset"] is None


def test_only_wished_columns_are_there_in_the_order_of_the_contract() -> None:
    table = read(manifest([entry()] * 3), columns=["record_count", "status"], metrics=[2], metric_kinds=["upper"])
    assert table.column_names == ["status", "record_count", "2.upper"]


def test_no_columns_still_count_the_entries() -> None:
    assert read(manifest([entry()] * 3), columns=[]).num_rows == 3


def test_an_unknown_column_or_metric_is_refused_with_what_exists() -> None:
    with pytest.raises(InvalidInput, match=r"Cannot read column 'file_pth' of a manifest.*Did you mean 'file_path'"):
        read(manifest([]), columns=["file_pth"])
    with pytest.raises(InvalidInput, match=r"Cannot read metric 'lowr' of a manifest.*Did you mean 'lower'"):
        read(manifest([]), metrics=[1], metric_kinds=["lowr"])
    with pytest.raises(InvalidInput, match=r"Cannot read metrics of field 99 in manifest m0\.avro"):
        read(manifest([]), metrics=[99])


def test_an_empty_manifest_has_all_columns_and_no_rows() -> None:
    table = read(manifest([]), metrics=[1, 2], maps=True)
    assert table.num_rows == 0
    assert table.schema.field("1.lower").type == pa.int64()


# -- metrics ---------------------------------------------------------------------------------------------------------


def test_metrics_are_typed_and_missing_ones_are_null_never_zero() -> None:
    full = entry(
        lower_bounds={1: long(5), 2: b"a", 3: struct.pack("<d", -0.5), 4: struct.pack("<i", 19000)},
        upper_bounds={1: long(9)},
        null_value_counts={1: 0, 2: 3},
        nan_value_counts={3: 1},
        value_counts={1: 10},
        column_sizes={1: 99, 2: 100},
    )
    table = read(manifest([full, entry()], lists=SIZED), columns=[], metrics=[1, 2, 3, 4])
    column = {name: table.column(name).to_pylist() for name in table.column_names}
    assert column["1.lower"] == [5, None]
    assert column["2.lower"] == ["a", None]
    assert column["3.lower"] == [-0.5, None]
    assert column["4.lower"] == [date(2022, 1, 8), None]
    assert column["1.upper"] == [9, None]
    assert column["1.null_count"] == [0, None]
    assert column["3.null_count"] == [None, None]
    assert column["3.nan_count"] == [1, None]
    assert column["1.value_count"] == [10, None]
    assert column["2.column_size"] == [100, None]
    assert table.schema.field("2.null_count").type == pa.int64()


def test_bounds_from_before_a_promotion_are_decoded_by_width() -> None:
    schema = Schema(fields=(Field(id=1, name="id", type=LONG), Field(id=3, name="price", type=DOUBLE)))
    old = entry(lower_bounds={1: struct.pack("<i", -7), 3: struct.pack("<f", 0.5)})
    new = entry(lower_bounds={1: long(8), 3: struct.pack("<d", 1.5)})
    table = read(manifest([old, new]), schema=schema, columns=[], metrics=[1, 3], metric_kinds=["lower"])
    assert table.to_pydict() == {"1.lower": [-7, 8], "3.lower": [0.5, 1.5]}


def test_a_bound_of_the_wrong_width_is_refused_by_place() -> None:
    data = manifest([entry(), entry(lower_bounds={4: b"123"})])
    with pytest.raises(
        FormatViolation, match=r"m0\.avro: entry 1, lower_bounds\[4\]: expected 4 bytes for date, got 3"
    ):
        read(data, metrics=[4])


def test_a_bad_bound_becomes_unknown_where_the_caller_says_so() -> None:
    data = manifest([entry(lower_bounds={4: b"123"}), entry(lower_bounds={4: struct.pack("<i", 1)})])
    table = read(data, columns=[], metrics=[4], metric_kinds=["lower"], on_bad_bound="unknown")
    assert table.to_pydict() == {"4.lower": [None, date(1970, 1, 2)]}


def test_raw_maps_are_read_on_demand() -> None:
    table = read(manifest([entry(value_counts={1: 3, 9: 4}, lower_bounds={2: b"x"}), entry()]), maps=True)
    assert table.column("value_counts").to_pylist() == [[(1, 3), (9, 4)], None]
    assert table.column("lower_bounds").to_pylist() == [[(2, b"x")], None]
    assert table.schema.field("lower_bounds").type == METRIC_COLUMNS["lower_bounds"]


@pytest.mark.parametrize("maps", [False, True])
def test_the_same_key_twice_in_a_map_is_refused(maps: bool) -> None:
    data = manifest([entry(), entry(value_counts=[(1, 3), (2, 4), (1, 5)])])
    with pytest.raises(FormatViolation, match=r"entry 1, value_counts\[1\]: expected each key once, got it twice"):
        read(data, metrics=[1], maps=maps)


def test_damage_inside_a_map_is_told_by_its_key() -> None:
    good = manifest([entry(lower_bounds={1: long(5), 2: b"abc"})], codec="null")
    with pytest.raises(
        FormatViolation, match=r"Invalid manifest m0\.avro: entry 0, lower_bounds\[2\]: expected a length"
    ):
        read(good.replace(b"\x04\x06abc", b"\x04\x7fabc"), metrics=[1])


# -- partitions ------------------------------------------------------------------------------------------------------

DECIMAL = {"type": "fixed", "name": "d", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}
UUID = {"type": "fixed", "name": "u", "size": 16, "logicalType": "uuid"}
TIMESTAMP = {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}


@pytest.mark.parametrize(
    ("column", "transform", "avro", "stored", "expected"),
    [
        ("date", "identity", {"type": "int", "logicalType": "date"}, 1, date(1970, 1, 2)),
        ("date", "day", "int", 1, date(1970, 1, 2)),
        ("timestamptz", "day", {"type": "int", "logicalType": "date"}, -1, date(1969, 12, 31)),
        ("timestamp", "hour", "int", 5, 5),
        ("string", "bucket[4]", "int", 3, 3),
        ("string", "truncate[2]", "string", "ab", "ab"),
        ("long", "identity", "int", 7, 7),
        ("double", "identity", "float", 0.5, 0.5),
        ("decimal(9, 2)", "identity", DECIMAL, b"\x00\x00\x00\x7b", Decimal("1.23")),
        ("decimal(9, 2)", "identity", {**DECIMAL, "type": "bytes"}, b"\xff", Decimal("-0.01")),
        ("decimal(18, 2)", "identity", DECIMAL, b"\x00\x00\x00\x7b", Decimal("1.23")),
        ("uuid", "identity", UUID, bytes(range(16)), bytes(range(16))),
        ("binary", "identity", "bytes", b"\xff\x00", b"\xff\x00"),
        ("fixed[3]", "identity", {"type": "fixed", "name": "x", "size": 3}, b"abc", b"abc"),
        ("boolean", "identity", "boolean", True, True),
        ("long", "void", "long", None, None),
    ],
)
def test_a_partition_value_is_typed_by_the_spec(
    column: str, transform: str, avro: Any, stored: Any, expected: Any
) -> None:
    data = _partitioned(column, transform, avro, [stored, None])
    table = read(data, columns=["partition"])
    child = table.schema.field("partition").type.field(0)
    assert (child.name, child.metadata) == ("p", {b"PARQUET:field_id": b"1000"})
    assert table.column("partition").to_pylist() == [{"p": expected}, {"p": None}]


@pytest.mark.parametrize("columns", [["partition"], ["file_path", "record_count"]])
def test_fixed_partition_values_with_a_length_before_them_are_read_as_java_writes_them(columns: list[str]) -> None:
    fixed = {"type": "fixed", "name": "x", "size": 3}
    by_the_letter = read(_partitioned("fixed[3]", "identity", fixed, [b"abc", None, b"\x00\xff\x01"]), columns=columns)
    as_java_writes = _partitioned("fixed[3]", "identity", fixed, [b"\x06abc", None, b"\x06\x00\xff\x01"])
    assert read(as_java_writes, columns=columns).equals(by_the_letter)


@pytest.mark.parametrize("columns", [["partition"], ["record_count"], ["partition", "record_count", "split_offsets"]])
@pytest.mark.parametrize("value", [b"ab\xff", b"ab\xfe", b"\xff\xff\x80", b"\x06\x06\x80"])
def test_the_length_before_a_fixed_partition_value_is_no_part_of_it_where_both_could_be_read(
    columns: list[str], value: bytes
) -> None:
    """Read by the letter, the last byte is the first one of the record count, and nothing else moves."""
    fixed = {"type": "fixed", "name": "x", "size": 3}
    found = read(_partitioned("fixed[3]", "identity", fixed, [b"\x06" + value]), columns=columns).to_pylist()
    expected = {"partition": {"p": value}, "record_count": 10, "split_offsets": [4]}
    assert found == [{name: expected[name] for name in columns}]


def test_a_fixed_partition_value_of_another_length_is_refused_in_either_form() -> None:
    fixed = {"type": "fixed", "name": "x", "size": 3}
    with pytest.raises(FormatViolation, match="Invalid manifest"):
        read(_partitioned("fixed[3]", "identity", fixed, [b"\x08abcd"]), columns=["partition"])
    with pytest.raises(FormatViolation, match="Invalid manifest"):
        read(_partitioned("fixed[3]", "identity", fixed, [b"abcdef"]), columns=["partition"])


@pytest.mark.parametrize(
    ("avro", "stored", "text"),
    [
        ("bytes", b"\xff\xfe", "fffe"),
        ("string", "fffe", "fffe"),
        ("int", 5, "5"),
        (TIMESTAMP, -(2**62), "-4611686018427387904"),
        ({"type": "fixed", "name": "x", "size": 2}, b"\xff\xfe", "fffe"),
    ],
    ids=["bytes", "string", "int", "timestamp", "fixed"],
)
def test_values_of_an_unknown_transform_are_text_whatever_the_file_holds(avro: Any, stored: Any, text: str) -> None:
    values = read(_partitioned("binary", "zorder[3]", avro, [stored, None])).column("partition").to_pylist()
    assert values == [{"p": text}, {"p": None}]


def test_timestamps_keep_the_zone_of_the_column() -> None:
    table = read(_partitioned("timestamptz", "identity", TIMESTAMP, [1]), columns=["partition"])
    assert table.schema.field("partition").type.field(0).type == pa.timestamp("us", tz="UTC")
    table = read(_partitioned("timestamp", "identity", TIMESTAMP, [1]), columns=["partition"])
    assert table.schema.field("partition").type.field(0).type == pa.timestamp("us")


def test_a_partition_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(FormatViolation, match=r"partition\.p: expected values of int, got"):
        read(_partitioned("int", "identity", "long", [2**40]), columns=["partition"])


def test_a_partition_field_is_found_by_id_not_by_name() -> None:
    data = _partitioned("long", "identity", "long", [5], avro_name="renamed")
    assert read(data, columns=["partition"]).to_pydict() == {"partition": [{"p": 5}]}


def test_a_dropped_source_column_keeps_the_type_of_the_file() -> None:
    data = _partitioned("string", "identity", "string", ["x"], source_id=99)
    assert read(data, columns=["partition"]).to_pydict() == {"partition": [{"p": "x"}]}


def _partitioned(
    column: str, transform: str, avro: Any, values: list[Any], *, avro_name: str = "p", source_id: int = 1
) -> bytes:
    table = {**TABLE_SCHEMA, "fields": [{"id": 1, "name": "c", "required": False, "type": column}]}
    spec = [{"source-id": source_id, "field-id": 1000, "name": "p", "transform": transform}]
    return manifest(
        [entry(partition={avro_name: v}) for v in values],
        schema=entry_schema([field(avro_name, 1000, ["null", avro])]),
        metadata={**header(spec), "schema": json.dumps(table).encode()},
    )


# -- other writers and versions --------------------------------------------------------------------------------------


def _without(schema: dict[str, Any], *names: str) -> dict[str, Any]:
    schema = copy.deepcopy(schema)
    schema["fields"] = [f for f in schema["fields"] if f["name"] not in names]
    data_file = schema["fields"][-1]["type"]
    data_file["fields"] = [f for f in data_file["fields"] if f["name"] not in names]
    return schema


def test_a_v1_manifest_gets_the_defaults_of_v1() -> None:
    schema = _without(entry_schema(), "content", "sequence_number", "file_sequence_number", "equality_ids")
    data = manifest([entry()], schema=schema, metadata=header(format_version=b"", content=b""))
    row = read(data).to_pylist()[0]
    assert (row["content"], row["sequence_number"], row["file_sequence_number"]) == (0, 0, 0)
    assert row["equality_ids"] is None
    assert read_manifest_header(data, source="m0.avro").format_version == 1


def test_fields_are_found_by_id_whatever_their_names_and_order() -> None:
    schema = entry_schema()
    schema["fields"] = [{**f, "name": f"x_{f['name']}"} for f in reversed(schema["fields"])]
    data = manifest([{f"x_{k}": v for k, v in entry().items()}], schema=schema)
    assert read(data, metrics=[1]).to_pylist()[0]["file_path"] == "s3://b/t/00000.parquet"


def test_fields_without_ids_are_found_by_name() -> None:
    schema = json.loads(json.dumps(entry_schema()).replace('"field-id"', '"no-id"'))
    data = manifest([entry(lower_bounds={1: long(4)})], schema=schema)
    assert read(data, columns=["file_format"], metrics=[1], metric_kinds=["lower"]).to_pylist() == [
        {"file_format": "PARQUET", "1.lower": 4}
    ]


def test_unions_in_either_order_and_narrow_integers_are_read() -> None:
    schema = entry_schema()
    schema["fields"][1]["type"] = ["int", "null"]
    row = read(manifest([entry(), entry(snapshot_id=None)], schema=schema)).column("snapshot_id")
    assert row.to_pylist() == [7, None]
    assert row.type == pa.int64()


def test_a_manifest_by_fastavro_is_read() -> None:
    out = io.BytesIO()
    rows = [entry(i, value_counts={1: i}) for i in range(5)]
    metadata = {k: v.decode() for k, v in header().items()}
    fastavro.writer(out, fastavro.parse_schema(entry_schema()), rows, codec="deflate", metadata=metadata)
    assert read(out.getvalue(), columns=[], metrics=[1], metric_kinds=["value_count"]).to_pydict() == {
        "1.value_count": [0, 1, 2, 3, 4]
    }


# -- header ----------------------------------------------------------------------------------------------------------


def test_the_header_says_schema_spec_version_and_content() -> None:
    spec = [{"source-id": 2, "field-id": 1000, "name": "name", "transform": "identity"}]
    read_header = read_manifest_header(manifest([], metadata=header(spec, content=b"deletes")), source="m0.avro")
    assert read_header.schema is not None and read_header.schema.fields[0].name == "id"
    assert (read_header.schema_id, read_header.spec_id, read_header.format_version) == (0, 0, 2)
    assert read_header.spec is not None and read_header.spec.fields[0].name == "name"
    assert read_header.content is ManifestContent.DELETES


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": b"two"}, "metadata format-version: expected a number, got b'two'"),
        ({"format_version": b"0"}, "metadata format-version: expected 1 to 3, got 0"),
        ({"content": b"rows"}, "metadata content: expected 'data' or 'deletes', got b'rows'"),
        ({"schema": b"{"}, r"Invalid manifest m0\.avro: metadata schema: "),
        ({"partition_spec": b"7"}, r"Invalid manifest m0\.avro: metadata partition-spec: "),
        ({"partition_spec_id": b"-"}, "metadata partition-spec-id: expected a number"),
    ],
)
def test_a_wrong_header_is_refused(change: dict[str, bytes], message: str) -> None:
    with pytest.raises(FormatViolation, match=message):
        read_manifest_header(manifest([], metadata=header(**change)), source="m0.avro")


def test_a_version_from_the_future_is_unsupported() -> None:
    with pytest.raises(UnknownVersion, match="format-version: expected 1 to 3, got 4"):
        read(manifest([], metadata=header(format_version=b"4")))


# -- bad entries -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": 3}, r"entry 1, status: expected 0 \(existing\), 1 \(added\) or 2 \(deleted\), got 3"),
        ({"content": -1}, "entry 1, content: expected 0"),
    ],
)
def test_a_code_out_of_range_is_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(FormatViolation, match=message):
        read(manifest([entry(), entry(**change)]))


def test_a_null_in_a_required_column_is_refused() -> None:
    schema = entry_schema()
    schema["fields"][-1]["type"]["fields"][1]["type"] = ["null", "string"]
    with pytest.raises(FormatViolation, match="entry 1, file_path: expected a value, got null"):
        read(manifest([entry(), entry(file_path=None)], schema=schema))


def test_a_missing_required_column_is_refused_only_when_wished_for() -> None:
    data = manifest([entry()], schema=_without(entry_schema(), "record_count"))
    assert read(data, columns=["file_path"]).num_rows == 1
    with pytest.raises(FormatViolation, match="Avro schema: expected the required field record_count, got none"):
        read(data)


def test_a_field_id_twice_is_refused() -> None:
    schema = entry_schema()
    schema["fields"][1]["field-id"] = 0
    with pytest.raises(FormatViolation, match="expected unique field ids, got 0 for both status and snapshot_id"):
        read(manifest([], schema=schema))


def test_an_avro_file_that_is_no_manifest_is_refused() -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}]}
    with pytest.raises(FormatViolation, match=r"Invalid manifest m0\.avro: Avro schema: expected the struct data_file"):
        read(manifest([{"a": 1}], schema=schema))


def test_a_column_of_another_type_is_refused() -> None:
    schema = entry_schema()
    schema["fields"][0]["type"] = "string"
    with pytest.raises(FormatViolation, match="status: expected values of int32, got string"):
        read(manifest([entry(status="x")], schema=schema))


# -- inheritance -----------------------------------------------------------------------------------------------------


def test_entries_inherit_from_the_manifest_list() -> None:
    listed = ManifestFile(
        manifest_path="m0.avro", manifest_length=1, added_snapshot_id=70, sequence_number=9, min_sequence_number=9
    )
    data = manifest([entry(snapshot_id=None), entry(status=0, sequence_number=3, file_sequence_number=4)])
    table = read(data, columns=["sequence_number", "snapshot_id"], metrics=[1], inherit_from=listed)
    assert table.column_names[:2] == ["snapshot_id", "sequence_number"]
    assert table.column("snapshot_id").to_pylist() == [70, 7]
    assert table.column("sequence_number").to_pylist() == [9, 3]
