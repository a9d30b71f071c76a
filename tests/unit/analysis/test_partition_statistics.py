"""Partition statistics of small tables: all fields, both texts of the specification, damage, and every commit."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.avro_files import container as avro_container

import skipstone
from skipstone.analysis.partition_files import load_partition_statistics, serialize_partition_statistics
from skipstone.analysis.partition_statistics import compute_partition_statistics, update_partition_statistics
from skipstone.commit import UpdateStatistics
from skipstone.errors import InvalidInput
from skipstone.metadata import types as t
from skipstone.metadata.avro import parse_container
from skipstone.metadata.partitions.partition_evolution import build_spec
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec, unified_partition_type
from skipstone.metadata.partitions.transforms import IdentityTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.stats.labels import StatisticsIgnored
from skipstone.stats.partition_layout import partition_statistics_struct

ROWS = pa.table({"id": [1, 2, 3, 4], "state": ["b", None, "a", "b"], "x": [1.0, float("nan"), None, 4.0]})
FORMATS = ("parquet", "orc", "avro")


def make_table(path: Path, **options: Any) -> Any:
    catalog = skipstone.catalog(f"sqlite:///{path}/catalog.db", warehouse=str(path / "lake"))
    catalog.create_namespace("db")
    options.setdefault("partition_by", ["state"])
    return catalog.create_table("db.t", ROWS.schema, **options)


def rows(statistics: Any) -> dict[Any, dict[str, Any]]:
    return {tuple(r["partition"].values()): r for r in statistics.rows.to_pylist()}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("file_format", FORMATS)
def test_a_file_in_the_tables_format_is_registered_and_read_back(
    tmp_path: Path, version: int, file_format: str
) -> None:
    table = make_table(tmp_path, format_version=version, properties={"write.format.default": file_format})
    table.append(ROWS)
    made = table.compute_partition_statistics()
    file = table.metadata.partition_statistics[0]
    snapshot_id = table.current_snapshot.snapshot_id
    assert file.statistics_path.endswith(f"metadata/partition-stats-{snapshot_id}.{file_format}")
    assert file.file_size_in_bytes == table.storage.size(file.statistics_path)
    found = table.partition_statistics()
    assert found.rows.to_pylist() == made.rows.to_pylist()
    assert [r["partition"]["state"] for r in found.rows.to_pylist()] == [None, "a", "b"]
    assert rows(found)[("b",)] | {"total_data_file_size_in_bytes": 0} == {
        "partition": {"state": "b"}, "spec_id": 0, "data_record_count": 2, "data_file_count": 1,
        "total_data_file_size_in_bytes": 0, "position_delete_record_count": 0, "position_delete_file_count": 0,
        "dv_count": 0, "equality_delete_record_count": 0, "equality_delete_file_count": 0, "total_record_count": 2,
        "last_updated_at": table.current_snapshot.timestamp_ms, "last_updated_snapshot_id": snapshot_id,
    }  # fmt: skip


def test_computing_again_gives_a_new_name_and_one_registered_file(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    table.compute_partition_statistics()
    first = table.metadata.partition_statistics[0]
    table.compute_partition_statistics()
    (second,) = table.metadata.partition_statistics
    assert second.statistics_path != first.statistics_path
    assert Path(second.statistics_path).name.startswith(f"partition-stats-{first.snapshot_id}-")


def test_the_layout_follows_the_format_version() -> None:
    partition = t.StructType((t.Field(id=1000, name="state", type=t.STRING),))
    for version, count in ((1, 12), (2, 12), (3, 13)):
        struct = partition_statistics_struct(partition, version, {})
        spec = {f.id: f for f in struct.fields if f.id < 10_000}
        assert sorted(spec) == list(range(1, count + 1))
        assert all(spec[i].required == (i < 6 or (version == 3 and i not in (10, 11, 12))) for i in spec)
    zoned = partition_statistics_struct(partition, 2, {4: t.LONG, 7: t.STRING})
    ids = [f.id for f in t.walk(zoned) if f.id > 2000]
    assert min(ids) == 10_001 and len(set(ids)) == len(ids)


SCHEMA = Schema(fields=tuple(t.Field(id=i, name=f"c{i}", type=t.INT) for i in (1, 2, 3)))


def spec_of(spec_id: int, *ids: int) -> PartitionSpec:
    fields = (
        PartitionField(source_ids=(i,), field_id=999 + i, name=f"c{i}", transform=IdentityTransform()) for i in ids
    )
    return PartitionSpec(spec_id=spec_id, fields=tuple(fields))


@pytest.mark.parametrize(
    ("first", "second", "unified"), [((1, 2), (1, 2, 3), [1000, 1001, 1002]), ((1, 2), (2,), [1000, 1001])]
)
def test_the_specs_examples_of_the_unified_partition_type(first: Any, second: Any, unified: list[int]) -> None:
    found = unified_partition_type([spec_of(0, *first), spec_of(1, *second)], SCHEMA)
    assert [f.id for f in found.fields] == unified


def test_deletes_are_counted_by_kind(tmp_path: Path) -> None:
    for version in (2, 3):
        table = make_table(
            tmp_path / str(version), format_version=version, properties={"write.delete.mode": "merge-on-read"}
        )
        table.append(ROWS)
        table.delete("id = 4")
        row = rows(table.compute_partition_statistics())[("b",)]
        counts = row["position_delete_record_count"], row["position_delete_file_count"], row["dv_count"]
        assert counts == ((1, 0, 1) if version == 3 else (1, 1, 0))
        # Position delete files need reading; deletion vectors say what they delete.
        assert row["total_record_count"] == (1 if version == 3 else None)
        exact = rows(table.compute_partition_statistics(exact_rows=True))
        assert {k[0]: r["total_record_count"] for k, r in exact.items()} == {None: 1, "a": 1, "b": 1}


def test_statistics_follow_the_table_with_every_commit(tmp_path: Path) -> None:
    table = make_table(tmp_path, properties={"skipstone.stats.partition-on-commit": "true"})
    table.append(ROWS)
    with table.transaction() as both:
        both.append(ROWS)
        both.delete("state = 'a'")
    table.append(ROWS.slice(2, 1))
    registered = {f.snapshot_id for f in table.metadata.partition_statistics}
    assert registered == {s.snapshot_id for s in table.snapshots}
    found = table.partition_statistics()
    whole = compute_partition_statistics(table.metadata, table.storage, table.current_snapshot)
    assert found.rows.to_pylist() == whole.rows.to_pylist()
    assert {k[0]: r["data_record_count"] for k, r in rows(found).items()} == {None: 2, "a": 1, "b": 4}


def test_bounds_shrink_again_when_files_of_a_small_table_are_removed(tmp_path: Path) -> None:
    table = make_table(tmp_path, properties={"skipstone.stats.partition-on-commit": "true"})
    table.append(ROWS)
    table.append(pa.table({"id": [100], "state": ["a"], "x": [None]}, ROWS.schema))
    assert len(table.partition_statistics("id > 50")) == 1
    table.delete("id = 100")
    assert len(table.partition_statistics("id > 50")) == 0


def test_building_upon_earlier_statistics_reads_only_what_changed(tmp_path: Path) -> None:
    table = make_table(tmp_path, properties={"commit.manifest-merge.enabled": "false"})
    for _ in range(5):
        table.append(ROWS)
    base = table.compute_partition_statistics()
    table.append(ROWS)
    read: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(table.storage, name)

        def read(self, path: str) -> bytes:
            read.append(path)
            return table.storage.read(path)

    found = update_partition_statistics(base, table.metadata, Counting(), table.current_snapshot)  # type: ignore[arg-type]
    assert found is not None and rows(found)[("a",)]["data_file_count"] == 6
    assert sum("-m" in Path(p).name for p in read) == 1


def test_a_full_computation_takes_the_index_where_it_tells_every_entry(tmp_path: Path) -> None:
    properties = {"commit.manifest-merge.enabled": "false", "skipstone.index.sidecar-min-files": "1"}
    table = make_table(tmp_path, properties=properties)
    for _ in range(3):
        table.append(ROWS)
    table.delete("state = 'a'")
    table.append(ROWS)
    read: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(table.storage, name)

        def read(self, path: str) -> bytes:
            read.append(path)
            return table.storage.read(path)

    storage: Any = Counting()
    found = compute_partition_statistics(table.metadata, storage, table.current_snapshot)
    # Manifests that name deleted files are read: the index leaves these out, and they tell when a partition changed.
    listed = [m.deleted_files_count for m in manifests_of(table.current_snapshot, table.metadata, table.storage)]
    assert sum("-m" in Path(p).name for p in read) == sum(map(bool, listed)) == 3 < len(listed)
    bare = compute_partition_statistics(table.metadata, storage, table.current_snapshot, use_index=False)
    assert found.rows.equals(bare.rows)


def test_after_evolution_earlier_statistics_are_built_upon_rightly(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    base = table.compute_partition_statistics()
    with table.update_spec() as spec:
        spec.add_term("bucket(4, id)")
    table.append(ROWS)
    with table.update_spec() as spec:
        spec.remove_field("state")
    table.append(ROWS)
    table.delete("id = 1")
    found = update_partition_statistics(base, table.metadata, table.storage, table.current_snapshot)
    whole = compute_partition_statistics(table.metadata, table.storage, table.current_snapshot)
    assert found is not None and found.rows.to_pylist() == whole.rows.to_pylist()


def of(table: Any, snapshot_id: int) -> Any:
    return compute_partition_statistics(table.metadata, table.storage, table.metadata.snapshot(snapshot_id))


def upon(base: Any, table: Any, snapshot_id: int) -> Any:
    return update_partition_statistics(base, table.metadata, table.storage, table.metadata.snapshot(snapshot_id))


def test_statistics_whose_last_change_no_manifest_tells_any_more_are_computed_in_full(tmp_path: Path) -> None:
    table = make_table(tmp_path, properties={"write.delete.mode": "copy-on-write"})
    table.append([{"id": 1, "state": "a", "x": None}])
    table.append([{"id": 2, "state": "a", "x": None}, {"id": 3, "state": "b", "x": None}])
    table.delete("id = 2")
    deleted = table.current_snapshot.snapshot_id
    base = of(table, deleted)
    table.rewrite_manifests()
    # The entry of the deleted file is gone with its manifest.
    rewritten = table.current_snapshot.snapshot_id
    assert of(table, deleted).rows.column("last_updated_snapshot_id").to_pylist()[0] == deleted
    assert of(table, rewritten).rows.column("last_updated_snapshot_id").to_pylist()[0] != deleted
    assert upon(base, table, rewritten) is None
    found = table.compute_partition_statistics()
    assert found.rows.to_pylist() == of(table, rewritten).rows.to_pylist()


def test_what_an_earlier_snapshot_says_of_a_partition_knows_nothing_of_a_later_one(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append([{"id": 1, "state": "a", "x": None}, {"id": 2, "state": "b", "x": None}])
    first = table.current_snapshot.snapshot_id
    table.delete("state = 'a'")
    base = of(table, table.current_snapshot.snapshot_id)
    found = upon(base, table, first)
    assert found is None or found.rows.to_pylist() == of(table, first).rows.to_pylist()


@pytest.mark.parametrize("keeps_oldest", [False, True])
def test_of_expired_snapshots_no_change_is_told(tmp_path: Path, keeps_oldest: bool) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    if keeps_oldest:
        table.create_tag("oldest")
    table.append(ROWS)
    table.append([{"id": 9, "state": "z", "x": None}])
    last = table.current_snapshot.snapshot_id
    base = of(table, last)
    table.expire_snapshots(older_than=datetime.now(UTC) + timedelta(days=1), retain_last=1)
    table.append([{"id": 10, "state": "z", "x": None}])
    now = table.current_snapshot.snapshot_id
    found = upon(base, table, now)
    # What changed first is in the table again: only a full computation knows that it is the newest that is left.
    assert (found is None) == keeps_oldest
    assert found is None or found.rows.to_pylist() == of(table, now).rows.to_pylist()


def test_partitions_are_filtered_by_tuple_and_by_bounds(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    table.compute_partition_statistics()

    def kept(text: str) -> list[Any]:
        return [r["partition"]["state"] for r in table.partition_statistics(text).rows.to_pylist()]

    assert kept("state = 'a'") == ["a"]
    assert kept("id > 3") == ["b"]
    assert kept("id > 2 and state <> 'a'") == ["b"]
    assert kept("x is null") == ["a"]
    assert kept("id > 100") == []


def test_a_file_of_the_older_text_is_read_by_names(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    ids = {"PARQUET:field_id": b"1000"}
    partition = pa.struct([pa.field("state", pa.string(), metadata=ids)])
    older = [
        ("partition", partition), ("spec_id", pa.int32()), ("data_record_count", pa.int64()),
        ("data_file_count", pa.int32()), ("position_delete_record_count", pa.int64()),
        ("position_delete_file_count", pa.int32()), ("equality_delete_record_count", pa.int64()),
        ("equality_delete_file_count", pa.int32()),
    ]  # fmt: skip
    schema = pa.schema([pa.field(n, a, metadata={"PARQUET:field_id": str(i + 1)}) for i, (n, a) in enumerate(older)])
    row = dict(zip((n for n, _ in older), [{"state": "a"}, 0, 10, 2, 3, 1, 4, 5]))
    path = str(tmp_path / "older.parquet")
    pq.write_table(pa.Table.from_pylist([row], schema), path)
    register(table, path)
    (found,) = table.partition_statistics().rows.to_pylist()
    assert {n: found[n] for n, _ in older} == row
    assert found["total_data_file_size_in_bytes"] == 0 and found["last_updated_at"] is None


def register(table: Any, path: str) -> None:
    file = PartitionStatisticsFile(
        snapshot_id=table.current_snapshot.snapshot_id, statistics_path=path, file_size_in_bytes=1
    )
    table._apply(UpdateStatistics(set_partition=(file,)))


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other columns", "unknown fields"])
def test_a_file_of_no_use_is_ignored_with_a_warning_that_names_it(tmp_path: Path, damage: str) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    made = table.compute_partition_statistics()
    path = tmp_path / f"{damage.replace(' ', '-')}.parquet"
    data = serialize_partition_statistics(made, table.metadata, "parquet")
    match damage:
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "other columns":
            pq.write_table(pa.table({"a": [1]}), str(path))
        case "unknown fields":
            path.write_bytes(data)
            extended = pq.read_table(str(path)).append_column("extra", pa.nulls(3, pa.int32()))
            pq.write_table(extended, str(path))
    register(table, str(path))
    if damage == "unknown fields":
        assert table.partition_statistics().rows.to_pylist() == made.rows.to_pylist()
        return
    with pytest.warns(StatisticsIgnored, match=path.name):
        assert table.partition_statistics() is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsIgnored)
        again = table.compute_partition_statistics()
    assert again.rows.to_pylist() == made.rows.to_pylist()


def test_a_wrong_byte_in_a_page_is_noticed(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    made = table.compute_partition_statistics()
    data = serialize_partition_statistics(made, table.metadata, "parquet")
    path = tmp_path / "flipped.parquet"
    register(table, str(path))
    pages = [data.index(b"PAR1") + 4, int(pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0).total_byte_size)]
    noticed = 0
    for place in np.random.default_rng(7).integers(*pages, size=60).tolist():
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", StatisticsIgnored)
            found = table.partition_statistics()
        if found is None:
            noticed += 1
            assert path.name in str(told[0].message)
        else:  # what was hit is of no consequence
            assert found.rows.to_pylist() == made.rows.to_pylist()
    assert noticed > 30


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_text_that_is_no_text_is_noticed(tmp_path: Path, file_format: str) -> None:
    codecs = {"write.orc.compression-codec": "none", "write.avro.compression-codec": "uncompressed"}
    table = make_table(tmp_path, properties=codecs)
    table.append(pa.table({"id": [1], "state": ["unmistakable"], "x": [1.0]}))
    made = table.compute_partition_statistics(zone_columns=["id"])
    data = serialize_partition_statistics(made, table.metadata, file_format)
    assert b"unmistakable" in data
    path = tmp_path / f"no-text.{file_format}"
    path.write_bytes(data.replace(b"unmistakable", b"unmistak\xff\xff\xff\xff"))
    register(table, str(path))
    with pytest.warns(StatisticsIgnored, match=path.name):
        assert table.partition_statistics() is None


def test_statistics_of_a_snapshot_that_is_gone_harm_nobody(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    table.compute_partition_statistics()
    table.append(ROWS)
    table.expire_snapshots(older_than=table.current_snapshot.timestamp_ms + 1, retain_last=1)
    assert table.partition_statistics() is None
    assert len(table.compute_partition_statistics()) == 3


def test_a_table_that_was_never_partitioned_is_refused(tmp_path: Path) -> None:
    table = make_table(tmp_path, partition_by=[])
    table.append(ROWS)
    with pytest.raises(InvalidInput, match="Cannot compute partition statistics"):
        table.compute_partition_statistics()


def test_a_table_without_snapshots_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no snapshot"):
        make_table(tmp_path).compute_partition_statistics()


@pytest.mark.parametrize(
    "values", [[b"abcd\x80"], [b"abcd\x81", None], [b"\xff\xff\xff\xff\xff", b"\x00\x00\x00\x00\x80"]]
)
def test_fixed_partition_values_in_avro_are_read_however_they_were_written(
    tmp_path: Path, values: list[bytes | None]
) -> None:
    """With a length before them: declared so by us, as Avro's fixed by Java. Without one by others."""
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    properties = {"write.avro.compression-codec": "uncompressed"}
    table = catalog.create_table("db.t", [("x", "fixed[5]")], partition_by=["x"], properties=properties)
    table.append([{"x": value} for value in values])
    made = table.compute_partition_statistics()
    ours = serialize_partition_statistics(made, table.metadata, "avro")
    container = parse_container(ours, source="ours")
    tuples = next(f for f in container.schema["fields"] if f["name"] == "partition")["type"]["fields"]
    assert tuples[0]["type"] == ["null", "bytes"]
    tuples[0]["type"] = ["null", {"type": "fixed", "name": "fixed_5", "size": 5}]
    blocks = [(count, bytes(data)) for data, count in container.inflated()]
    lengths = [(n, data.replace(b"\x02\x0a", b"\x02")) for n, data in blocks]
    javas, by_the_letter = (avro_container(container.schema, b) for b in (blocks, lengths))
    for name, data in {"ours": ours, "javas": javas, "by-the-letter": by_the_letter}.items():
        path = tmp_path / f"{name}.avro"
        path.write_bytes(data)
        register(table, str(path))
        found = table.partition_statistics()
        assert found is not None and found.rows.to_pylist() == made.rows.to_pylist(), name


def test_every_type_of_partition_field_makes_the_journey(tmp_path: Path) -> None:
    schema = pa.schema([("d", pa.date32()), ("u", pa.uuid()), ("b", pa.binary(2)), ("n", pa.decimal128(9, 2)),
                        ("f", pa.float64()), ("q", pa.bool_())])  # fmt: skip
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    names = schema.names
    table = catalog.create_table(
        "db.t", schema, partition_by=names, properties={"skipstone.index.sidecar-min-files": "1"}
    )
    build_spec(table.schema, names)
    filled = pa.Table.from_pylist(
        [{"d": 1, "u": b"u" * 16, "b": b"xy", "n": 1, "f": v, "q": True} for v in (0.0, -0.0, float("nan"))] + [{}],
        schema,
    )
    table.append(filled)
    made = compute_partition_statistics(table.metadata, table.storage, table.current_snapshot)
    assert len(made) == 4
    bare = compute_partition_statistics(table.metadata, table.storage, table.current_snapshot, use_index=False)
    assert str(bare.rows.to_pylist()) == str(made.rows.to_pylist())
    for file_format in FORMATS:
        path = tmp_path / f"p.{file_format}"
        path.write_bytes(serialize_partition_statistics(made, table.metadata, file_format))
        file = PartitionStatisticsFile(snapshot_id=1, statistics_path=str(path), file_size_in_bytes=1)
        found = load_partition_statistics(file, table.metadata, table.storage)
        assert str(found.rows.to_pylist()) == str(made.rows.to_pylist())


def _path_of(table: Any) -> Path:
    return Path(table.metadata.partition_statistics[-1].statistics_path.removeprefix("file:"))


def test_a_file_with_a_partition_twice_is_ignored_with_a_warning_that_names_it(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    table.compute_partition_statistics()
    stored = pq.read_table(_path_of(table))
    pq.write_table(pa.concat_tables([stored, stored]), _path_of(table))
    with pytest.warns(StatisticsIgnored, match=r"partition-stats-.*one row for each partition"):
        assert table.partition_statistics() is None
    with pytest.warns(StatisticsIgnored):
        table.append(ROWS)
        assert rows(table.compute_partition_statistics())[("a",)]["data_record_count"] == 2


@pytest.mark.parametrize("odd", ["null_count", "lower"])
def test_bounds_of_an_odd_type_keep_every_partition(tmp_path: Path, odd: str) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    table.compute_partition_statistics()
    stored = pq.read_table(_path_of(table))
    at = stored.schema.get_field_index("zone_1")
    zone = stored.column(at).combine_chunks()
    fields = [f.with_type(pa.string()) if f.name == odd else f for f in zone.type]
    changed = pa.StructArray.from_arrays([zone.field(i).cast(f.type) for i, f in enumerate(fields)], fields=fields)
    pq.write_table(stored.set_column(at, stored.schema.field(at).with_type(changed.type), changed), _path_of(table))
    assert len(table.partition_statistics("id > 100")) == 3
    assert len(table.partition_statistics("state = 'a'")) == 1


@pytest.mark.parametrize("is_own", [False, True])
def test_a_total_is_believed_only_where_it_can_be_true(tmp_path: Path, is_own: bool) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    table.compute_partition_statistics()
    stored = pq.read_table(_path_of(table))
    at = stored.schema.get_field_index("total_record_count")
    changed = stored.set_column(at, stored.schema.field(at), pa.array([0, 1, 99], pa.int64()))
    pq.write_table(changed if is_own else changed.drop_columns("skipstone_layout"), _path_of(table))
    found = [r["total_record_count"] for r in table.partition_statistics().rows.to_pylist()]
    # Of the null partition and of "a" there is one row each, of "b" there are two.
    assert found == [0 if is_own else None, 1, None]


@pytest.mark.parametrize("file_format", FORMATS)
def test_statistics_of_a_table_without_rows_are_read_back(tmp_path: Path, file_format: str) -> None:
    schema = pa.schema([("u", pa.uuid()), ("n", pa.decimal128(9, 2))])
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table(
        "db.t", schema, partition_by=["u", "n"], properties={"write.format.default": file_format}
    )
    table.append(pa.table({"u": pa.array([b"u" * 16], pa.uuid()), "n": pa.array([None], schema.field("n").type)}))
    table.delete("true")
    assert len(table.compute_partition_statistics()) == 0
    assert len(table.partition_statistics()) == len(table.partition_statistics("n > 1")) == 0
    table.append(pa.table({"u": pa.array([b"v" * 16], pa.uuid()), "n": pa.array([None], schema.field("n").type)}))
    assert len(table.compute_partition_statistics()) == len(table.partition_statistics("n is null")) == 1
    assert table.audit().is_clean
