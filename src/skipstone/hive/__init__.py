"""Hive's column statistics on our tables: HiveQL, the metastore's tables in SQL, its Thrift service, its catalog."""
