"""Many partitions for a real metastore in seconds: one that came through Thrift, multiplied in its stopped database.

Through Thrift 10,000 partitions x 20 columns take the metastore about six minutes, none of which is measured. What is
multiplied are the rows that it wrote itself; the benchmark compares what both sides answer before it measures them.
The peer gets what an installed one has and a self-made schema lacks: the index of Hive's released schemas over
PART_COL_STATS, and statistics of its tables for Derby's optimizer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

_ROWS_A_STATEMENT: Final = 1_000

# Every row of the first partition once for each number: n, and the partition's value v.
_COPIES: Final = {
    "SERDES": {"SERDE_ID": "SERDE_ID + n"},
    "SDS": {"SD_ID": "SD_ID + n", "SERDE_ID": "SERDE_ID + n", "LOCATION": "LOCATION || v"},
    "PARTITIONS": {"PART_ID": "PART_ID + n", "SD_ID": "SD_ID + n", "PART_NAME": "'p=' || v"},
    "PARTITION_KEY_VALS": {"PART_ID": "PART_ID + n", "PART_KEY_VAL": "v"},
    "PARTITION_PARAMS": {"PART_ID": "PART_ID + n"},
    "PART_COL_STATS": {
        "CS_ID": "CS_ID + n * columns",
        "PART_ID": "PART_ID + n",
        "PARTITION_NAME": "'p=' || v",
        "NUM_NULLS": "n",
        "NUM_DISTINCTS": "NUM_DISTINCTS + n",
        "LONG_LOW_VALUE": "LONG_LOW_VALUE + n",
        "LONG_HIGH_VALUE": "LONG_HIGH_VALUE + n",
        "DOUBLE_LOW_VALUE": "DOUBLE_LOW_VALUE + n / 3e0",
        "DOUBLE_HIGH_VALUE": "DOUBLE_HIGH_VALUE + n * 3.5e0",
        "AVG_COL_LEN": "AVG_COL_LEN + n / 7e0",
        "MAX_COL_LEN": "MAX_COL_LEN + n",
    },
}


def multiply_partition(home: Path, numbers: range, *, columns: int) -> None:
    """The only partition of a stopped metastore, once more for each number."""
    from pyspark import SparkContext  # late: a JVM with Derby's jar comes with it

    SparkContext._ensure_initialized()
    jvm: Any = SparkContext._jvm
    jvm.java.lang.System.setProperty("derby.stream.error.file", str(home / "derby-fill.log"))
    jvm.java.lang.Class.forName("org.apache.derby.jdbc.EmbeddedDriver")
    connection = jvm.java.sql.DriverManager.getConnection(f"jdbc:derby:{home}/db")
    connection.setAutoCommit(False)
    statement = connection.createStatement()
    statement.execute("CREATE TABLE NUMBERS (n BIGINT NOT NULL, v VARCHAR(16) NOT NULL)")
    for start in range(numbers.start, numbers.stop, _ROWS_A_STATEMENT):
        rows = (f"({n}, '{n:05d}')" for n in range(start, min(start + _ROWS_A_STATEMENT, numbers.stop)))
        statement.execute(f"INSERT INTO NUMBERS VALUES {', '.join(rows)}")
    for table, changed in _COPIES.items():
        _copy(connection, statement, table, changed, columns)
    statement.execute("DROP TABLE NUMBERS")
    # The metastore counts its rows itself.
    statement.execute(f"UPDATE SEQUENCE_TABLE SET NEXT_VAL = NEXT_VAL + {numbers.stop * columns}")
    connection.commit()
    _index(statement)
    connection.commit()
    connection.close()
    try:
        jvm.java.sql.DriverManager.getConnection(f"jdbc:derby:{home}/db;shutdown=true")
    except Exception as error:  # Derby says with an exception that it has shut down
        assert "shutdown" in str(error), error


def _index(statement: Any) -> None:
    columns = "DB_NAME, TABLE_NAME, COLUMN_NAME, PARTITION_NAME"
    statement.execute(f"CREATE INDEX PCS_STATS_IDX ON PART_COL_STATS ({columns})")
    for table in _COPIES:
        statement.execute(f"CALL SYSCS_UTIL.SYSCS_UPDATE_STATISTICS('APP', '{table}', NULL)")


def _copy(connection: Any, statement: Any, table: str, changed: dict[str, str], columns: int) -> None:
    found = connection.getMetaData().getColumns(None, "APP", table, None)
    names = []
    while found.next():
        names.append(found.getString("COLUMN_NAME"))
    values = [changed.get(name, f'"{name}"').replace("columns", str(columns)) for name in names]
    which = {
        "SERDES": "SERDE_ID IN (SELECT S.SERDE_ID FROM SDS S JOIN PARTITIONS P ON P.SD_ID = S.SD_ID)",
        "SDS": "SD_ID IN (SELECT SD_ID FROM PARTITIONS)",
    }.get(table, "1 = 1")
    quoted = ", ".join(f'"{name}"' for name in names)
    statement.execute(f"INSERT INTO {table} ({quoted}) SELECT {', '.join(values)} FROM {table}, NUMBERS WHERE {which}")
