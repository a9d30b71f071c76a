"""SQL statements over our tables, carried out by Spark.

    skipstone.sql(spark, "select count(*) from shop.shipping_address where zip_code = '10001'")

Law: what a query answers is what Spark answers over the same rows; pruning only changes how much is read.
"""

from skipstone.statements.run import sql
from skipstone.statements.verbs import MergeBuilder, delete_rows, update_rows, upsert_rows

__all__ = ["MergeBuilder", "delete_rows", "sql", "update_rows", "upsert_rows"]
