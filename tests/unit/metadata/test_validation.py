"""Every cross-reference of table metadata: broken ones are told with file, place, expected and got."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.metadata_builder import START_MS, changed_json, empty_table, table

from skipstone.errors import FormatViolation
from skipstone.metadata.tables.statistics_files import StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.metadata.tables.validation import faults_of, validate_table_metadata

Change = Callable[[dict[str, Any]], object]


def _set(path: str, value: Any) -> Change:
    """Set the member at a path like `snapshots.0.schema-id`."""

    def change(m: Any) -> None:
        *parents, last = (int(p) if p.isdigit() else p for p in path.split("."))
        for parent in parents:
            m = m[parent]
        m[last] = value

    return change


def _repeat(member: str) -> Change:
    return lambda m: m[member].append(m[member][0])


BROKEN: list[tuple[str, int, Change, str]] = [
    ("schema ids repeat", 2, _repeat("schemas"), r"\$\.schemas\[2\]\.schema-id: expected unique ids, got 0"),
    (
        "current schema missing",
        2,
        _set("current-schema-id", 5),
        r"\$\.current-schema-id: expected one of the schemas \(0, 1\), got 5",
    ),
    ("column id above the last", 2, _set("last-column-id", 3), r"\$\.last-column-id: expected at least 4.*, got 3"),
    ("v3 type in v2", 2, _set("schemas.0.fields.2.type", "timestamp_ns"), r"\$\.schemas\[0\]: .*needs v3"),
    ("default in v2", 2, _set("schemas.0.fields.1.initial-default", "x"), r"\$\.schemas\[0\]: .*needs v3"),
    (
        "spec ids repeat",
        2,
        _repeat("partition-specs"),
        r"\$\.partition-specs\[1\]\.spec-id: expected unique ids, got 0",
    ),
    (
        "default spec missing",
        2,
        _set("default-spec-id", 9),
        r"\$\.default-spec-id: expected one of the partition specs \(0\), got 9",
    ),
    (
        "partition id above the last",
        2,
        _set("last-partition-id", 999),
        r"\$\.last-partition-id: expected at least 1000",
    ),
    (
        "default spec over no column",
        2,
        _set("partition-specs.0.fields.0.source-id", 77),
        r"\$\.partition-specs\[0\]: Cannot find source column 77",
    ),
    (
        "transform does not apply",
        2,
        _set("partition-specs.0.fields.0.transform", "day"),
        r"\$\.partition-specs\[0\]: .*does not allow transform day on type string",
    ),
    (
        "partition field ids repeat",
        2,
        lambda m: m["partition-specs"][0]["fields"].append(dict(m["partition-specs"][0]["fields"][0], name="b")),
        r"\$\.partition-specs\[0\]: .*expected unique ids, got 1000 twice",
    ),
    ("sort order ids repeat", 2, _repeat("sort-orders"), r"\$\.sort-orders\[1\]\.order-id: expected unique ids, got 1"),
    (
        "default sort order missing",
        2,
        _set("default-sort-order-id", 4),
        r"\$\.default-sort-order-id: expected one of the sort orders \(1\), got 4",
    ),
    (
        "default sort order over no column",
        2,
        _set("sort-orders.0.fields.0.source-id", 77),
        r"\$\.sort-orders\[0\]: Cannot find source column 77",
    ),
    ("unsorted order with fields", 2, _set("sort-orders.0.order-id", 0), r"\$\.sort-orders\[0\]: .*unsorted"),
    ("snapshot ids repeat", 2, _repeat("snapshots"), r"\$\.snapshots\[3\]\.snapshot-id: expected unique ids, got 11"),
    (
        "sequence number above the last",
        2,
        _set("snapshots.1.sequence-number", 4),
        r"\$\.snapshots\[1\]\.sequence-number: expected at most .* 3, got 4",
    ),
    ("snapshot of no schema", 2, _set("snapshots.1.schema-id", 4), r"\$\.snapshots\[1\]\.schema-id: expected one of"),
    (
        "snapshot of no key",
        3,
        _set("snapshots.1.key-id", "k"),
        r"\$\.snapshots\[1\]\.key-id: expected one of the encryption keys \(there are none\), got k",
    ),
    ("row ids beyond the next", 3, _set("next-row-id", 29), r"\$\.next-row-id: expected at least 30.*, got 29"),
    ("own parent", 2, _set("snapshots.0.parent-snapshot-id", 11), r"\$\.snapshots: .*cycle, got one through 11"),
    ("cyclic parents", 2, _set("snapshots.0.parent-snapshot-id", 33), r"\$\.snapshots: .*without a cycle"),
    ("current snapshot missing", 2, _set("current-snapshot-id", 44), r"\$\.current-snapshot-id: expected one of"),
    (
        "ref to no snapshot",
        2,
        _set("refs.audit.snapshot-id", 44),
        r"\$\.refs\.audit\.snapshot-id: expected one of the snapshots \(11, 22, 33\), got 44",
    ),
    (
        "main elsewhere",
        2,
        _set("refs.main.snapshot-id", 22),
        r"\$\.refs\.main: expected the current snapshot 33, got 22",
    ),
    (
        "main without a current snapshot",
        2,
        _set("current-snapshot-id", -1),
        r"\$\.refs\.main: expected the current snapshot \(none\), got 33",
    ),
    ("main a tag", 2, _set("refs.main.type", "tag"), r"\$\.refs\.main: .*expected a branch"),
    (
        "two partition statistics files of one snapshot",
        2,
        _set(
            "partition-statistics",
            [{"snapshot-id": 33, "statistics-path": p, "file-size-in-bytes": 1} for p in ("a", "b")],
        ),
        r"\$\.partition-statistics\[1\]\.snapshot-id: expected unique ids, got 33",
    ),
    (
        "snapshot log out of order",
        2,
        _set("snapshot-log.1.timestamp-ms", START_MS - 60_000),
        r"\$\.snapshot-log\[1\]\.timestamp-ms: expected entries in order of time",
    ),
    (
        "snapshot log after the last update",
        2,
        _set("snapshot-log.2.timestamp-ms", START_MS + 63_001),
        r"\$\.last-updated-ms: expected at least the last time in \$\.snapshot-log",
    ),
    (
        "metadata log after the last update",
        2,
        _set("metadata-log.0.timestamp-ms", START_MS + 63_001),
        r"\$\.last-updated-ms: expected at least the last time in \$\.metadata-log",
    ),
    (
        "key ids repeat",
        3,
        _set("encryption-keys", [{"key-id": "a", "encrypted-key-metadata": ""}] * 2),
        r"\$\.encryption-keys\[1\]\.key-id: expected unique ids, got a",
    ),
    (
        "keys that wrap each other",
        3,
        _set(
            "encryption-keys",
            [
                {"key-id": a, "encrypted-key-metadata": "", "encrypted-by-id": b}
                for a, b in (("a", "b"), ("b", "c"), ("c", "a"))
            ],
        ),
        r"\$\.encryption-keys: expected encrypted-by-id without a cycle",
    ),
]


@pytest.mark.parametrize(("version", "change", "message"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_a_broken_reference_is_one_violation_with_its_place(version: int, change: Change, message: str) -> None:
    with pytest.raises(FormatViolation, match=r"^Invalid table metadata t\.json: " + message):
        parse_table_metadata(changed_json(change, table(version)), source="t.json")


TOLERATED: list[tuple[str, int, Change]] = [
    ("an expired parent", 2, _set("snapshots.0.parent-snapshot-id", 1)),
    ("a log of expired snapshots", 2, _set("snapshot-log.0.snapshot-id", 1)),
    ("an old spec over a dropped column", 2, lambda m: m["partition-specs"].append(
        {"spec-id": 1, "fields": [{"source-id": 99, "field-id": 1000, "name": "x", "transform": "identity"}]})),
    ("an old order over a dropped column", 2, lambda m: m["sort-orders"].append(
        dict(m["sort-orders"][0], **{"order-id": 2, "fields": [dict(m["sort-orders"][0]["fields"][0], **{
            "source-id": 99})]}))),
    ("a void field whose column is gone", 1, lambda m: m["partition-specs"][0]["fields"].append(
        {"source-id": 99, "field-id": 1000, "name": "x", "transform": "void"}) or
        m["partition-specs"][0]["fields"].pop(0)),
    ("clocks a minute apart", 2, _set("snapshot-log.1.timestamp-ms", START_MS - 59_000)),
    ("a last update a minute behind", 2, _set("snapshot-log.2.timestamp-ms", START_MS + 63_000)),
    ("a key of the key management service", 3, _set(
        "encryption-keys", [{"key-id": "a", "encrypted-key-metadata": "", "encrypted-by-id": "kms"}])),
    ("snapshots from before an upgrade", 3, lambda m: [s.pop(k) for s in m["snapshots"]
        for k in ("first-row-id", "added-rows")]),
]  # fmt: skip


@pytest.mark.parametrize(("version", "change"), [t[1:] for t in TOLERATED], ids=[t[0] for t in TOLERATED])
def test_what_engines_keep_alive_is_tolerated(version: int, change: Change) -> None:
    assert parse_table_metadata(changed_json(change, table(version)), source="t.json")


def test_statistics_of_an_expired_snapshot_are_tolerated() -> None:
    file = StatisticsFile(snapshot_id=1, statistics_path="p", file_size_in_bytes=1, file_footer_size_in_bytes=1)
    validate_table_metadata(replace(table(), statistics=(file, file)), source="t")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_sound_metadata_has_no_faults(version: int) -> None:
    assert list(faults_of(table(version))) == []
    assert list(faults_of(empty_table(version))) == []


def test_all_faults_are_told() -> None:
    broken = replace(table(), current_schema_id=9, default_spec_id=9, default_sort_order_id=9, current_snapshot_id=9)
    places = [fault.split(":")[0] for fault in faults_of(broken)]
    assert places == [
        "$.current-schema-id", "$.default-spec-id", "$.default-sort-order-id", "$.current-snapshot-id", "$.refs.main",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        (replace(table(2), table_uuid=None), "table-uuid"),
        (replace(table(1), last_sequence_number=1), "last-sequence-number"),
        (replace(table(2), format_version=4), "format-version"),
    ],
)
def test_values_that_no_file_could_hold_are_faults_too(metadata: TableMetadata, place: str) -> None:
    assert any(fault.startswith(f"$.{place}: ") for fault in faults_of(metadata))


def test_a_long_lineage_is_checked_in_linear_time() -> None:
    snapshots = tuple(
        replace(table().snapshots[0], snapshot_id=i, parent_snapshot_id=i - 1 or None) for i in range(1, 20_001)
    )
    long = replace(empty_table(), last_sequence_number=3, snapshots=snapshots)
    assert list(faults_of(long)) == []
