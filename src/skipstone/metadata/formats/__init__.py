"""The spec's types in other formats: Arrow, Avro, ORC, Parquet."""
