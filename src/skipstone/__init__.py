"""Skipstone: statistics-first lakehouse tables on the Iceberg table spec.

import skipstone

lake = skipstone.catalog("sqlite:///lake/catalog.db", warehouse="lake")
table = lake.create_table("shop.shipping_address", [("state", "string"), ("zip_code", "string")])
table.append([{"state": "NY", "zip_code": "10001"}])
table.scan("zip_code = '10001'").to_arrow()
"""

from importlib import import_module
from typing import Any

from skipstone.expressions import expr
from skipstone.hosts import statements_host
from skipstone.lake import Lake, open_table
from skipstone.lake import open_catalog as catalog
from skipstone.predicate import FloatOrder, col
from skipstone.scan import Scan
from skipstone.table import Table

__version__ = "0.1.0"

__all__ = ["FloatOrder", "Lake", "Scan", "Table", "__version__", "catalog", "col", "expr", "open_table", "sql"]

# Hosts that are optional extras, found when they are first named.
_HOSTS = ("spark", "hive")


def sql(spark: Any, text: str, args: Any = None, *, catalog: Lake | None = None, **frames: Any) -> Any:
    """Run a SQL statement over our tables on Spark: names are those of `catalog`, or of catalogs attached before.

    As in `spark.sql`, `args` are values for `:name` or `?`, and frames stand in the text as `{name}`.
    """
    return statements_host().sql(spark, text, args, catalog=catalog, **frames)


def __getattr__(name: str) -> Any:
    if name in _HOSTS:
        return import_module(f"skipstone.{name}")
    raise AttributeError(f"module 'skipstone' has no attribute {name!r}")
