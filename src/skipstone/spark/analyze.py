"""ANALYZE as a Spark job: one pass over the files that no analysis has read yet.

Law: the same summaries as an analysis without Spark, whatever number of tasks has made them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from skipstone.analysis.analyze import AnalysisPlan
from skipstone.analysis.file_analysis import FileAnalysis
from skipstone.spark.file_tasks import fits_here, over_files
from skipstone.spark.session import active
from skipstone.spark.task_writes import slim
from skipstone.stats.summary import FileSummary
from skipstone.stats.summary_table import summaries_from_arrow, summaries_to_arrow


def analyse_files(work: AnalysisPlan, spark: Any = None, *, table: str) -> list[FileSummary]:
    """The summaries of the files that a planned analysis must read."""
    todo = work.plan.taking(list(work.rows))
    sizes = todo.files.column("file_size_in_bytes").to_numpy()
    if spark is not None and fits_here(spark, sizes):
        return work.analysed_here()
    tables = over_files(
        active(spark),
        sizes,
        lambda rows: todo.files.take(pa.array(rows)).combine_chunks(),
        partial(_analyse, travelling(work.work())),
        what=f"analysing {table}",
    )
    return [summary for found in tables for summary in summaries_from_arrow(found)]


def travelling(analysis: FileAnalysis) -> FileAnalysis:
    """The analysis without what only the driver needs: files come in portions."""
    plan = replace(analysis.plan, metadata=slim(analysis.plan.metadata), facts=None, levels=())
    return over(replace(analysis, plan=plan), plan.files.slice(0, 0))


def over(analysis: FileAnalysis, files: Any) -> FileAnalysis:
    """The same analysis of other files of its plan."""
    return replace(analysis, plan=replace(analysis.plan, files=files))


def _analyse(rest: FileAnalysis, files: Any) -> Any:
    analysis = over(rest, files)
    return summaries_to_arrow(analysis.analyse(row) for row in range(files.num_rows))
