"""Skipstone: statistics-first lakehouse tables on the Iceberg table spec.

import skipstone

lake = skipstone.catalog("sqlite:///lake/catalog.db", warehouse="lake")
table = lake.create_table("shop.shipping_address", [("state", "string"), ("zip_code", "string")])
table.append([{"state": "NY", "zip_code": "10001"}])
table.scan("zip_code = '10001'").to_arrow()
"""

from skipstone.lake import Lake, open_table
from skipstone.lake import open_catalog as catalog
from skipstone.predicate import FloatOrder, col
from skipstone.scan import Scan
from skipstone.table import Table

__version__ = "0.1.0"

__all__ = ["FloatOrder", "Lake", "Scan", "Table", "__version__", "catalog", "col", "open_table"]
