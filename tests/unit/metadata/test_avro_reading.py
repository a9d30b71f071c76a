"""Which decoder runs. Both give the same, so only the choice is tested here."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.support.avro_files import avro_file

from skipstone.metadata.avro import decode, decode_python, machine, parse_container, reading

SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "a", "type": "bytes"}]}


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "skipstone.metadata.avro.machine", raising=False)
    monkeypatch.setattr(reading, "_seen", reading._Seen())


@pytest.mark.usefixtures("unloaded")
def test_small_files_do_not_load_the_compiled_decoder_until_they_are_many() -> None:
    assert not reading._use_compiled(4000)
    assert not reading._use_compiled(10)
    assert not reading._use_compiled(50)
    assert reading._use_compiled(50)


@pytest.mark.usefixtures("unloaded")
def test_a_large_file_loads_the_compiled_decoder() -> None:
    assert reading._use_compiled(20_000)


def test_the_machine_is_compiled_without_a_folder_to_keep_it_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_to_cache(*, nogil: bool, cache: bool = False) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: ("compiled", function, nogil)

    monkeypatch.setattr(machine, "njit", refuse_to_cache)
    assert machine._kept_on_disk(len) == ("compiled", len, True)


def test_few_but_large_records_go_to_the_compiled_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PYTHON_BYTES_MAX", 1000)
    monkeypatch.setattr(decode_python, "_finished", None)  # the reference decoder cannot finish
    data = avro_file(SCHEMA, [{"a": b"x" * 2000}])
    assert decode(parse_container(data, source="a.avro")).num_rows == 1
