"""Entries of manifests read through the skip index, as far as it goes.

    roll-up: manifests -> partitions -> blocks, then of the blocks that are left the sidecars' facts, then their files

Every manifest falls back on its own: without a sidecar, with a damaged one, or with one that does not cover the columns
of a filter, the manifest itself is read. Law: the same entries are kept that reading all manifests would keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow

from skipstone.index.columns import is_enabled
from skipstone.index.loading import rollups_of
from skipstone.index.places import index_directory
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.tables.properties import INDEX_SIDECAR_MIN_FILES, hint_value
from skipstone.plan.entries import empty_entries, read_live_entries
from skipstone.plan.index_zones import IndexLevels, Mask, count_by_rollups, judge_rollups
from skipstone.plan.question import Question
from skipstone.plan.sidecars import read_sidecars
from skipstone.plan.small_manifests import recent_live_entries
from skipstone.predicate.nodes import TRUE

pa: Any = pyarrow


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedEntries:
    """Entries that may match, with what the index skipped before and notes on what in it could not be used."""

    files: Any
    levels: IndexLevels | None = None
    notes: tuple[str, ...] = ()


def read_entries(
    manifests: Sequence[ManifestFile], question: Question, *, use_index: bool, asked: Mask | None = None
) -> IndexedEntries:
    """The live entries of manifests that can hold a match, in the order of the manifests, each with its verdict.

    `asked` has a bit for each manifest, false where it was skipped before: those who ask again and again about the same
    manifests name them all.
    """
    metadata = question.metadata
    asked = np.ones(len(manifests), bool) if asked is None else asked
    is_useful = use_index and asked.any() and is_enabled(metadata) and not _says_nothing(manifests, question)
    directory = index_directory(metadata) if is_useful else None
    if directory is None:
        return IndexedEntries(
            files=_read_whole(manifests, np.flatnonzero(asked).tolist(), question, use_index=use_index)
        )
    notes: list[str] = []
    rollups = rollups_of(question.snapshot, metadata, question.storage, directory, notes)
    judged = judge_rollups(rollups, manifests, asked, question)
    left = judged.left
    turns = [(i, manifests[i], judged.blocks[i]) for i in left if judged.has_sidecar(i)]
    tables, done = read_sidecars(turns, question, directory, notes, unproven=judged.unproven)
    whole = [i for i in left if i not in done]
    if whole:
        tables.append(_read_whole(manifests, whole, question, use_index=True))
    return IndexedEntries(files=_in_order(tables, question), levels=judged.levels(), notes=tuple(dict.fromkeys(notes)))


def _says_nothing(manifests: Sequence[ManifestFile], question: Question) -> bool:
    """Without a filter nothing can be skipped, and manifests of few files have no sidecar to be read instead."""
    if question.predicate != TRUE:
        return False
    fewest = hint_value(question.metadata.properties, INDEX_SIDECAR_MIN_FILES)
    return all(0 <= _files_of(m) < fewest for m in manifests)


def _files_of(manifest: ManifestFile) -> int:
    """The number of live files, -1 if it is not known."""
    added, existing = manifest.added_files_count, manifest.existing_files_count
    return -1 if added is None or existing is None else added + existing


def _read_whole(
    manifests: Sequence[ManifestFile], places: Sequence[int], question: Question, *, use_index: bool
) -> Any:
    chosen, metadata, storage = [manifests[i] for i in places], question.metadata, question.storage
    if use_index and not question.metrics:
        decoded = recent_live_entries(chosen, metadata, storage, columns=question.columns)
    else:
        decoded = read_live_entries(
            chosen,
            metadata,
            storage,
            columns=question.columns,
            metrics=question.metrics,
            schema=question.schema,
        )
    at = decoded.schema.get_field_index("manifest")
    numbers = np.array(places, np.int32)[decoded.column(at).to_numpy()]
    decoded = decoded.set_column(at, "manifest", pa.array(numbers, pa.int32()))
    return question.judged(decoded)


def _in_order(tables: Sequence[Any], question: Question) -> Any:
    if not tables:
        return question.judged(empty_entries(question.metadata, question.columns))
    joined = pa.concat_tables(tables).combine_chunks()
    places = joined.column("manifest").to_numpy()
    if bool(np.all(places[1:] >= places[:-1])):
        return joined
    return joined.take(pa.array(np.argsort(places, kind="stable")))


def count_rows(manifests: Sequence[ManifestFile], question: Question) -> int | None:
    """How many rows match, if the roll-up of the snapshot proves it; delete files are not looked at."""
    metadata, storage = question.metadata, question.storage
    directory = index_directory(metadata) if is_enabled(metadata) else None
    if directory is None:
        return None
    live = [m for m in manifests if not m.has_no_live_files]
    rollups = rollups_of(question.snapshot, metadata, storage, directory, [])
    return count_by_rollups(rollups, live, question)
