"""The quick reader of manifest lists against the one that goes through Arrow columns: the same manifests, or None."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.test_manifest_round_trip import MANIFEST_FILE

from skipstone.errors import FormatViolation, Unsupported
from skipstone.metadata.avro import parse_container
from skipstone.metadata.manifests import manifest_list_quick
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_list import (
    manifest_list_to_arrow,
    manifests_from_arrow,
    write_manifest_list,
)
from skipstone.metadata.manifests.manifest_list_columns import COLUMNS, SUMMARY_IDS
from skipstone.metadata.manifests.manifest_list_quick import quick_manifests


def quick(data: bytes) -> list[ManifestFile] | None:
    return quick_manifests(parse_container(data, source="list", kind="manifest list", row_word="manifest"))


def slow(data: bytes) -> list[ManifestFile]:
    return manifests_from_arrow(manifest_list_to_arrow(data, source="list"))


@given(st.lists(MANIFEST_FILE, max_size=6), st.sampled_from([2, 3]), st.sampled_from(["null", "deflate", "zstandard"]))
@settings(max_examples=100, deadline=None)
def test_lists_as_written_are_read_quickly(drawn: list[ManifestFile], version: int, codec: Any) -> None:
    data = write_manifest_list(
        drawn,
        format_version=version,
        snapshot_id=1,
        parent_snapshot_id=None,
        sequence_number=5,
        first_row_id=0,
        codec=codec,
    ).data
    assert quick(data) == slow(data)


@given(st.lists(MANIFEST_FILE, min_size=1, max_size=2), st.data())
@settings(max_examples=300, deadline=None)
def test_changed_bytes_are_read_alike_or_left_to_the_other_reader(
    drawn: list[ManifestFile], data: st.DataObject
) -> None:
    written = write_manifest_list(
        drawn, format_version=2, snapshot_id=1, parent_snapshot_id=None, sequence_number=5, codec="null"
    )
    changed = bytearray(written.data)
    # Mostly among the records: what is before them is the schema.
    start = data.draw(st.sampled_from([0, changed.rindex(b"format-version")]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(start, len(changed) - 17))
        changed[at] = data.draw(st.integers(0, 255) | st.sampled_from([0, 1, 2, 3, 4, 0x80, 0xFF]))
    _agree(bytes(changed))


def _agree(data: bytes) -> bool:
    """Whether the quick reader read it; then the other one reads the same."""
    try:
        found = quick(data)
    except (FormatViolation, Unsupported):
        with pytest.raises((FormatViolation, Unsupported)):
            slow(data)
        return False
    if found is None:
        return False
    assert found == slow(data)
    return True


@st.composite
def foreign_lists(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A schema that some writer could have, and records of it: any order, other integers, fields nobody knows."""
    kinds = {"manifest_path": "string", "key_metadata": "bytes", "partitions": "array"}
    fields, values = [], {}
    known = draw(st.permutations([*COLUMNS, "private"]))
    left_out = set(draw(st.lists(st.sampled_from([n for n in COLUMNS if n not in ("manifest_path",)]), max_size=2)))
    for name in (n for n in known if n not in left_out):
        kind = kinds.get(name, draw(st.sampled_from(["int", "long"])))
        if name == "private" or draw(st.integers(0, 19)) == 0:
            kind = draw(st.sampled_from(["int", "long", "string", "bytes", "boolean", "double"]))
        nullable = draw(st.sampled_from([None, 0, 1]))
        type_, strategy = _typed(draw, kind)
        field: dict[str, Any] = {"name": name, "type": type_}
        if nullable is not None:
            field["type"] = ["null", type_] if nullable == 0 else [type_, "null"]
            strategy = st.none() | strategy
        if name in COLUMNS and draw(st.booleans()):
            field |= {"field-id": COLUMNS[name][0], "name": f"f_{name}"}
        fields.append(field)
        values[field["name"]] = strategy
    records = draw(st.lists(st.fixed_dictionaries(values), max_size=3))
    return {"type": "record", "name": "manifest_file", "fields": fields}, records


def _typed(draw: st.DrawFn, kind: str) -> tuple[Any, st.SearchStrategy[Any]]:
    integers = st.integers(0, 3) | st.integers(-2, 2**31 - 1)
    simple: dict[str, st.SearchStrategy[Any]] = {
        "int": integers,
        "long": integers | st.integers(-(2**63), 2**63 - 1),
        "string": st.text(max_size=3),
        "bytes": st.binary(max_size=3),
        "boolean": st.booleans(),
        "double": st.just(0.5),
    }
    if kind != "array":
        return kind, simple[kind]
    fields, values = [], {}
    for field_id, name in SUMMARY_IDS.items():
        if name == "contains_null" or draw(st.integers(0, 3)):
            inner = "boolean" if name.startswith("contains") else "bytes"
            optional = name != "contains_null" or draw(st.integers(0, 3)) == 0
            fields.append({"name": name, "type": ["null", inner] if optional else inner, "field-id": field_id})
            values[name] = st.none() | simple[inner] if optional else simple[inner]
    item = {"type": "record", "name": "r508", "fields": fields}
    return {"type": "array", "items": item, "element-id": 508}, st.lists(st.fixed_dictionaries(values), max_size=2)


@given(foreign_lists())
@settings(max_examples=300, deadline=None)
def test_lists_of_any_schema_are_read_alike(drawn: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
    schema, records = drawn
    sink = io.BytesIO()
    fastavro.writer(sink, schema, records)
    _agree(sink.getvalue())


@pytest.mark.parametrize("is_loaded", [False, True])
def test_long_lists_go_to_the_compiled_decoder_once_it_is_there(
    is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest_list_quick, "is_compiled_loaded", lambda: is_loaded)
    manifest = ManifestFile(
        manifest_path="m",
        manifest_length=1,
        sequence_number=1,
        min_sequence_number=1,
        added_snapshot_id=1,
        added_files_count=1,
        existing_files_count=0,
        deleted_files_count=0,
        added_rows_count=1,
        existing_rows_count=0,
        deleted_rows_count=0,
    )
    for length in (128, 129):
        listed = [manifest] * length
        data = write_manifest_list(
            listed, format_version=2, snapshot_id=1, parent_snapshot_id=None, sequence_number=5
        ).data
        assert (quick(data) is None) == (is_loaded and length > 128)
        assert slow(data) == listed
