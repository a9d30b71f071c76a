"""SQL statements over our tables, carried out by Spark.

    skipstone.sql(spark, "select count(*) from shop.shipping_address where zip_code = '10001'")

Law: what a query answers is what Spark answers over the same rows; pruning only changes how much is read.
"""

from skipstone.statements.run import sql

__all__ = ["sql"]
