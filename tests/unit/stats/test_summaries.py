"""Quantiles, frequent values and summaries: within their stated errors, whole when merged, the same after a journey."""

from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa
import pytest

from skipstone.analysis.collect import ColumnCollector, Wishes
from skipstone.errors import FormatViolation
from skipstone.metadata import types as t
from skipstone.stats.column_statistics import column_statistics
from skipstone.stats.heavy_values import KEPT_MAX, HeavyBuilder, merge_heavy
from skipstone.stats.labels import Accuracy, Labelled, weakest
from skipstone.stats.quantiles import RANK_ERROR, QuantilesBuilder, merge_quantiles
from skipstone.stats.sampling import SAMPLE_STRIDES
from skipstone.stats.summary import ColumnSummary, FileSummary, merge_summaries
from skipstone.stats.summary_table import summaries_from_arrow, summaries_to_arrow


@pytest.mark.parametrize("sizes", [(1_000, 3_000), (SAMPLE_STRIDES[-1][0], 50_000), (SAMPLE_STRIDES[0][0], 50_000)])
def test_quantiles_keep_their_rank_error_over_files_of_any_size(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(7)
    files = [random.exponential(10.0, size) + 5 * i for i, size in enumerate(sizes)]
    parts = []
    for values in files:
        builder = QuantilesBuilder(len(values))
        builder.add(t.DOUBLE, pa.array(values))
        parts.append(builder.finish())
    merged, everything = merge_quantiles(parts), np.sort(np.concatenate(files))
    for q in (0.01, 0.1, 0.5, 0.9, 0.99):
        value = merged.quantiles([q])[0]
        assert np.searchsorted(everything, value) / len(everything) == pytest.approx(q, abs=RANK_ERROR)
        assert merged.rank(float(np.quantile(everything, q))) == pytest.approx(q, abs=RANK_ERROR)


def test_quantiles_leave_nulls_and_nans_out() -> None:
    builder = QuantilesBuilder(4)
    builder.add(t.FLOAT, pa.array([1.0, None, float("nan"), 3.0], pa.float32()))
    assert builder.finish().quantiles([0.0, 1.0]) == [1.0, 3.0]


def test_frequent_values_are_exact_while_there_are_few() -> None:
    builder = HeavyBuilder(t.STRING, 6)
    builder.add(pa.array(["a", "b", "a", None, "c", "a"]))
    found = builder.finish()
    assert dict(found.counts) == {b"a": 3, b"b": 1, b"c": 1}
    assert (found.error, found.is_sampled) == (0, False)


def test_merged_counts_are_off_by_their_error_at_most() -> None:
    random = np.random.default_rng(3)
    values = np.minimum(random.zipf(1.2, 60_000), 100_000)
    parts = []
    for piece in np.array_split(values, 7):
        builder = HeavyBuilder(t.LONG, len(piece))
        builder.add(pa.array(piece))
        parts.append(builder.finish())
    found = merge_heavy(parts)
    true = dict(zip(*(a.tolist() for a in np.unique(values, return_counts=True))))
    assert len(found.counts) <= KEPT_MAX
    for data, count in found.counts.items():
        assert count <= true[int.from_bytes(data, "little")] <= count + found.error
    listed = {int.from_bytes(d, "little") for d in found.counts}
    assert max(n for v, n in true.items() if v not in listed) <= found.error


def test_a_dictionary_gives_the_summary_of_its_values() -> None:
    text = pa.array(["b", "", None, "übersee", "b", "a"])
    # A dictionary with a value that no row uses.
    encoded = pa.DictionaryArray.from_arrays(
        pa.array([1, 2, None, 3, 1, 4], pa.int32()), pa.array(["zzz", "b", "", "übersee", "a"])
    )
    assert collected(t.STRING, encoded) == collected(t.STRING, text)
    summary = collected(t.STRING, text)
    assert (summary.lower, summary.upper, summary.length_total, summary.length_max) == ("", "übersee", 10, 7)


def test_a_column_without_values_has_no_bounds() -> None:
    summary = collected(t.LONG, pa.nulls(3, pa.int64()))
    assert (summary.value_count, summary.null_count, summary.lower, summary.upper) == (3, 3, None, None)


def test_bounds_keep_zeros_apart_and_leave_nans_out() -> None:
    merged = merge_summaries([collected(t.DOUBLE, pa.array(a)) for a in ([0.0], [-0.0, float("nan")], [float("nan")])])
    assert (str(merged.lower), str(merged.upper), merged.nan_count) == ("-0.0", "0.0", 2)


def test_summaries_travel_as_a_table() -> None:
    columns = (
        collected(t.LONG, pa.array([1, None, 3])),
        collected(t.STRING, pa.array(["a", None, "b"])),
        collected(t.DecimalType(9, 2), pa.array([None, decimal.Decimal(1), decimal.Decimal(2)], pa.decimal128(9, 2))),
        collected(t.BOOLEAN, pa.array([True, None, False])),
    )
    sent = [
        FileSummary(file_path="f1", row_count=3, deletes_key="", columns=columns),
        FileSummary(file_path="f2", row_count=0, deletes_key="k", columns=()),
    ]
    assert summaries_from_arrow(summaries_to_arrow(sent)) == sent
    with pytest.raises(FormatViolation, match="expected the columns of file summaries"):
        summaries_from_arrow(pa.table({"x": [1]}), source="s.parquet")


def test_labels_say_how_far_a_value_can_be_trusted() -> None:
    assert weakest([Accuracy.EXACT, Accuracy.ESTIMATE, Accuracy.BOUND]) is Accuracy.ESTIMATE
    assert str(Labelled(5, Accuracy.ESTIMATE, 0.01)) == "5 (estimate ± 1.0%)"
    assert str(Labelled(5)) == "5"


def test_statistics_have_what_their_type_has() -> None:
    flags = column_statistics("b", collected(t.BOOLEAN, pa.array([True, None, False, True])), is_after_deletes=False)
    assert (flags.true_count, flags.false_count, flags.null_count) == (Labelled(2), Labelled(1), Labelled(1))
    text = column_statistics("s", collected(t.STRING, pa.array(["", "abc", None])), is_after_deletes=False)
    assert (text.average_length, text.max_length, text.ndv) == (Labelled(1.5), Labelled(3), Labelled(2))
    assert text.histogram() is None and text.top_values(1)[0][1] == Labelled(1)
    numbers = column_statistics("n", collected(t.LONG, pa.array([1, 2, 2, 9])), is_after_deletes=True)
    assert numbers.low == Labelled(1, Accuracy.BOUND)
    assert numbers.ndv is not None and numbers.ndv.accuracy is Accuracy.UPPER_ESTIMATE
    assert numbers.top_values(1) == [(2, Labelled(2, Accuracy.BOUND))]
    histogram = numbers.histogram(2)
    assert histogram is not None and histogram.value[0] == 1.0 and histogram.value[-1] == 9.0


def collected(type_: t.PrimitiveType, array: pa.Array) -> ColumnSummary:
    collector = ColumnCollector(1, type_, len(array), Wishes())
    collector.add(array)
    return collector.finish()


def test_frequent_values_among_many_that_come_once_are_listed_within_their_error() -> None:
    random = np.random.default_rng(11)
    for repeats in (0, 3, 400):
        often = [f"often {i}" for i in range(repeats) for _ in range(3 + i)]
        values = [*often, *(f"once {i}" for i in range(5_000))]
        random.shuffle(values)
        builder = HeavyBuilder(t.STRING, len(values))
        builder.add(pa.array(values))
        found = builder.finish()
        truth = {v.encode(): values.count(v) for v in set(often)} | {b"once 7": 1}
        for value, count in truth.items():
            listed = found.counts.get(value, 0)
            assert listed <= count <= listed + found.error
        if repeats == 3:
            assert set(found.counts) == {b"often 0", b"often 1", b"often 2"}
