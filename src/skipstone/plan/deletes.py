"""Which delete files apply to which data files, by the spec's scope rules, for all files at once.

- A deletion vector applies to the file it names, if that file is not younger.
- A position delete file applies to the file it names, or to every file of its partition, if not younger, unless a
  deletion vector applies to that file.
- An equality delete file applies to every strictly older file of its partition, or of the table if its spec is
  unpartitioned.

Candidates that bounds prove apart are left out.

Spec: "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import FormatViolation
from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.reserved import DELETE_FILE_PATH
from skipstone.metadata.schema import Schema
from skipstone.plan.overlap import columns_may_meet

pa: Any = pyarrow
pc: Any = pyarrow.compute

Ints = npt.NDArray[np.int64]
Pairs = tuple[Ints, Ints]  # rows of the data table, rows of the delete table

PATH_LOWER = f"{DELETE_FILE_PATH.id}.lower"
PATH_UPPER = f"{DELETE_FILE_PATH.id}.upper"


def match_deletes(
    data: Any,
    deletes: Any,
    *,
    data_codes: Ints,
    delete_codes: Ints,
    unpartitioned_specs: Sequence[int],
    schemas: Sequence[Schema],
) -> Any:
    """For each data file, the rows of `deletes` that apply to it, as a list<int32> array.

    `data_codes` and `delete_codes` number partitions alike. Both tables may have metric columns, which only help:
    `schemas` have the types of those, the first that has a column.
    """
    if deletes.num_rows == 0 or data.num_rows == 0:
        return _as_lists(np.empty(0, np.int64), np.empty(0, np.int64), data.num_rows)
    content = deletes.column("content").to_numpy()
    is_vector = deletes.column("content_offset").is_valid().to_numpy() & (content == FileContent.POSITION_DELETES)
    vectors = np.flatnonzero(is_vector)
    positions = np.flatnonzero((content == FileContent.POSITION_DELETES) & ~is_vector)
    equality = np.flatnonzero(content == FileContent.EQUALITY_DELETES)

    seqs = _sequence_numbers(data), _sequence_numbers(deletes)
    by_vector = _match_vectors(data, deletes, vectors, seqs)
    by_position = _match_positions(data, deletes, positions, seqs, data_codes, delete_codes)
    has_vector = np.zeros(data.num_rows, bool)
    has_vector[by_vector[0]] = True
    by_position = tuple(side[~has_vector[by_position[0]]] for side in by_position)  # type: ignore[assignment]
    equal = _match_equality(deletes, equality, seqs, data_codes, delete_codes, unpartitioned_specs)
    meets = columns_may_meet(data, deletes, *equal, schemas)
    by_equality = equal[0][meets], equal[1][meets]

    found = [by_vector, by_position, by_equality]
    return _as_lists(np.concatenate([p[0] for p in found]), np.concatenate([p[1] for p in found]), data.num_rows)


def _sequence_numbers(table: Any) -> Ints:
    numbers: Ints = pc.fill_null(table.column("sequence_number"), 0).to_numpy().astype(np.int64)
    return numbers


def _as_lists(data_rows: Ints, delete_rows: Ints, num_files: int) -> Any:
    order = np.lexsort((delete_rows, data_rows))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(data_rows, minlength=num_files))))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(delete_rows[order], pa.int32()))


def _match_vectors(data: Any, deletes: Any, vectors: Ints, seqs: Pairs) -> Pairs:
    named = deletes.column("referenced_data_file").take(pa.array(vectors)).combine_chunks()
    if named.null_count:
        path = deletes.column("file_path")[int(vectors[pc.index(named.is_null(), True).as_py()])]
        raise FormatViolation(f"Invalid deletion vector in {path}: expected a referenced_data_file, got null.")
    if pc.count_distinct(named).as_py() != len(named):
        counts = pc.value_counts(named)
        twice = next(c["values"] for c in counts.to_pylist() if c["counts"] > 1)
        raise FormatViolation(f"Invalid snapshot: expected at most one deletion vector for {twice}, got several.")
    data_rows, places = _joined(data.column("file_path"), named)
    delete_rows = vectors[places]
    fits = seqs[0][data_rows] <= seqs[1][delete_rows]
    return data_rows[fits], delete_rows[fits]


def _joined(paths: Any, named: Any) -> Pairs:
    """Pairs of a data file and a place in `named` that have the same path; `named` may repeat."""
    unique = pc.unique(named)
    at = pc.index_in(paths, value_set=unique)
    rows = np.flatnonzero(at.is_valid().to_numpy(zero_copy_only=False) if hasattr(at, "is_valid") else [])
    codes = pc.index_in(named, value_set=unique).to_numpy(zero_copy_only=False).astype(np.int64)
    order = np.argsort(codes, kind="stable")
    wanted = at.to_numpy(zero_copy_only=False)[rows].astype(np.int64) if len(rows) else np.empty(0, np.int64)
    starts = np.searchsorted(codes[order], wanted, "left")
    ends = np.searchsorted(codes[order], wanted, "right")
    data_rows, places = _expand(rows, starts, ends)
    return data_rows, order[places]


def _expand(rows: Ints, starts: Ints, ends: Ints) -> Pairs:
    """Every row with each number from its start to before its end."""
    counts = np.maximum(ends - starts, 0)
    repeated = np.repeat(rows, counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return repeated, np.repeat(starts, counts) + within


def _match_positions(
    data: Any, deletes: Any, positions: Ints, seqs: Pairs, data_codes: Ints, delete_codes: Ints
) -> Pairs:
    named = _one_file(deletes, positions)
    is_named = named.is_valid().to_numpy(zero_copy_only=False)
    data_rows, places = _joined(data.column("file_path"), named.filter(pa.array(is_named)))
    by_name = data_rows, positions[is_named][places]
    fits = (seqs[0][by_name[0]] <= seqs[1][by_name[1]]) & (data_codes[by_name[0]] == delete_codes[by_name[1]])
    wide = positions[~is_named]
    by_partition = _in_partition(seqs, data_codes, delete_codes, wide, strictly=False)
    inside = _path_within(data, deletes, by_partition)
    return (
        np.concatenate((by_name[0][fits], by_partition[0][inside])),
        np.concatenate((by_name[1][fits], by_partition[1][inside])),
    )


def _one_file(deletes: Any, positions: Ints) -> Any:
    """The single data file a position delete file names, by its metadata or by equal path bounds; else null.

    Bounds may be cut short, so equal bounds name a file only if that many characters are a whole path: a cut upper
    bound is never equal to the lower one.
    """
    rows = pa.array(positions)
    named = deletes.column("referenced_data_file").take(rows)
    if PATH_LOWER in deletes.column_names:
        lower, upper = deletes.column(PATH_LOWER).take(rows), deletes.column(PATH_UPPER).take(rows)
        named = pc.coalesce(named, pc.if_else(pc.equal(lower, upper), lower, pa.scalar(None, pa.string())))
    return named.combine_chunks() if isinstance(named, pa.ChunkedArray) else named


def _path_within(data: Any, deletes: Any, pairs: Pairs) -> npt.NDArray[np.bool_]:
    if PATH_LOWER not in deletes.column_names or len(pairs[0]) == 0:
        return np.ones(len(pairs[0]), bool)
    paths = data.column("file_path").take(pa.array(pairs[0]))
    rows = pa.array(pairs[1])
    apart = pc.or_kleene(
        pc.less(paths, deletes.column(PATH_LOWER).take(rows)), pc.greater(paths, deletes.column(PATH_UPPER).take(rows))
    )
    within: npt.NDArray[np.bool_] = pc.invert(pc.fill_null(apart, False)).to_numpy()
    return within


def _in_partition(seqs: Pairs, data_codes: Ints, delete_codes: Ints, chosen: Ints, *, strictly: bool) -> Pairs:
    """Chosen deletes with all data files of their partition that are old enough."""
    order = chosen[np.lexsort((seqs[1][chosen], delete_codes[chosen]))]
    rows = np.flatnonzero(np.isin(data_codes, delete_codes[chosen]))
    # Within a partition deletes are ordered by age, so those that apply to a file are the end of its run.
    least = seqs[0][rows] + (1 if strictly else 0)
    keys = _key(delete_codes[order], seqs[1][order])
    starts = np.searchsorted(keys, _key(data_codes[rows], least), "left")
    ends = np.searchsorted(delete_codes[order], data_codes[rows], "right")
    data_rows, places = _expand(rows, starts, ends)
    return data_rows, order[places]


def _key(codes: Ints, numbers: Ints) -> Any:
    """Pairs that sort by code, then number."""
    pairs = np.empty(len(codes), dtype=[("code", np.int64), ("number", np.int64)])
    pairs["code"], pairs["number"] = codes, numbers
    return pairs


def _match_equality(
    deletes: Any,
    equality: Ints,
    seqs: Pairs,
    data_codes: Ints,
    delete_codes: Ints,
    unpartitioned_specs: Sequence[int],
) -> Pairs:
    spec_ids = deletes.column("spec_id").to_numpy()[equality]
    is_global = np.isin(spec_ids, np.array(unpartitioned_specs, dtype=np.int64))
    everywhere = np.zeros_like(data_codes), np.zeros_like(delete_codes)
    found = [
        _in_partition(seqs, data_codes, delete_codes, equality[~is_global], strictly=True),
        _in_partition(seqs, *everywhere, equality[is_global], strictly=True),
    ]
    data_rows, delete_rows = (np.concatenate([pairs[side] for pairs in found]) for side in (0, 1))
    return data_rows, delete_rows
