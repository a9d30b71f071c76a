"""ALTER TABLE: columns, properties, partition fields, the write order, branches and tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from skipstone.commit import UpdateSchema, UpdateSortOrder, UpdateSpec
from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.sorting import build_sort_order
from skipstone.metadata.values import from_python
from skipstone.spark.types import to_spark_type
from skipstone.statements.alter_refs import alter_ref
from skipstone.statements.clauses import parse_keys, parse_properties, parse_term_text
from skipstone.statements.columns import ColumnDefinition, constant, parse_column, parse_columns, parse_type
from skipstone.statements.names import Names
from skipstone.statements.tokens import Tokens
from skipstone.table import Table

_VERBS: Final = "ADD, DROP, RENAME, ALTER COLUMN, SET, UNSET, REPLACE, WRITE or CREATE"


def alter(spark: Any, names: Names, tokens: Tokens) -> None:
    """What comes after ALTER."""
    tokens.expect("TABLE")
    lake, identifier = names.place(tokens.names())
    if tokens.accept("RENAME", "TO"):
        _, target = names.place(tokens.names())
        tokens.end()
        lake.rename_table(identifier, target)
        return
    _change(spark, lake.load_table(identifier), tokens)


# Each change makes sure that the statement ends where it should before anything happens.


def _change(spark: Any, table: Table, tokens: Tokens) -> None:
    if tokens.accept("ADD", "PARTITION", "FIELD"):
        _add_partition_field(table, tokens)
    elif tokens.accept("DROP", "PARTITION", "FIELD"):
        _drop_partition_field(table, tokens)
    elif tokens.accept("REPLACE", "PARTITION", "FIELD"):
        _replace_partition_field(table, tokens)
    elif tokens.accept("REPLACE", "COLUMNS"):
        _replace_columns(spark, table, tokens)
    elif _is_about_a_ref(tokens):
        alter_ref(table, tokens)
    elif tokens.accept("ADD"):
        _add_columns(spark, table, tokens)
    elif tokens.accept("DROP", "IDENTIFIER", "FIELDS"):
        _drop_key(table, tokens, _column_list(tokens))
    elif tokens.accept("DROP"):
        _drop_columns(table, tokens)
    elif tokens.accept("RENAME"):
        tokens.expect("COLUMN")
        _rename(table, tokens)
    elif (verb := tokens.accept_any("ALTER", "CHANGE")) is not None:
        tokens.accept("COLUMN")
        _alter_column(spark, table, tokens, is_change=verb == "CHANGE")
    elif tokens.accept("SET", "IDENTIFIER", "FIELDS"):
        paths = _column_list(tokens)
        _schema(table, tokens, lambda update: update.set_identifier_fields(paths))
    elif tokens.accept("SET"):
        tokens.expect("TBLPROPERTIES", then="TBLPROPERTIES or IDENTIFIER FIELDS")
        properties = parse_properties(tokens)
        tokens.end()
        _set_properties(table, properties)
    elif tokens.accept("UNSET"):
        tokens.expect("TBLPROPERTIES")
        tokens.accept("IF", "EXISTS")
        keys = parse_keys(tokens)
        tokens.end()
        table.remove_properties(*keys)
    elif tokens.accept("WRITE"):
        _write_order(table, tokens)
    else:
        tokens.fail(_VERBS)


def _is_about_a_ref(tokens: Tokens) -> bool:
    drops = tokens.looks_at("DROP", "BRANCH") or tokens.looks_at("DROP", "TAG")
    return drops or tokens.looks_at_any("CREATE", "REPLACE")


def _schema(table: Table, tokens: Tokens, change: Callable[[Any], object], *, allow_incompatible: bool = False) -> None:
    tokens.end()
    table.apply(UpdateSchema(change=change, allow_incompatible=allow_incompatible, case_sensitive=False))


def _spec(table: Table, tokens: Tokens, change: Callable[[Any], object]) -> None:
    tokens.end()
    table.apply(UpdateSpec(change=change, case_sensitive=False))


# -- columns


def _add_columns(spark: Any, table: Table, tokens: Tokens) -> None:
    tokens.expect("COLUMN") if tokens.looks_at("COLUMN") else tokens.expect("COLUMNS", then="COLUMN or COLUMNS")
    columns = parse_columns(tokens) if tokens.looks_at("(") else _listed(tokens)
    _schema(table, tokens, _adding(spark, columns))


def _replace_columns(spark: Any, table: Table, tokens: Tokens) -> None:
    """All columns go and new ones come, as Spark has it: a column of an old name is another one, null in old rows."""
    add = _adding(spark, parse_columns(tokens))
    gone = [(f.name,) for f in table.schema.fields]

    def replace(update: Any) -> None:
        for path in gone:
            update.delete_column(path)
        add(update)

    _schema(table, tokens, replace)


def _adding(spark: Any, columns: Sequence[ColumnDefinition]) -> Callable[[Any], None]:
    defaults = {c.path: _default(spark, c) for c in columns}

    def add(update: Any) -> None:
        for column in columns:
            update.add_column(
                column.path, column.type, required=column.required, doc=column.doc, default=defaults[column.path],
                first=column.first, after=_beside(column.path, column.after),
            )  # fmt: skip

    return add


def _listed(tokens: Tokens) -> list[ColumnDefinition]:
    found = [parse_column(tokens)]
    while tokens.accept(","):
        found.append(parse_column(tokens))
    return found


def _default(spark: Any, column: ColumnDefinition) -> Any:
    if column.default is None:
        return None
    value = constant(spark, column.default, to_spark_type(column.type), what=f"default of {column.name}")
    return None if value is None else from_python(column.type, value)


def _beside(path: tuple[str, ...], name: str | None) -> tuple[str, ...] | None:
    return None if name is None else (*path[:-1], name)


def _drop_columns(table: Table, tokens: Tokens) -> None:
    if not tokens.accept_any("COLUMNS", "COLUMN"):
        tokens.fail("COLUMN, COLUMNS, PARTITION FIELD, IDENTIFIER FIELDS, BRANCH or TAG")
    checks = tokens.accept("IF", "EXISTS")
    in_parentheses = tokens.accept("(")
    paths = _column_list(tokens)
    if in_parentheses:
        tokens.expect(")")
    there = [p for p in paths if not checks or table.schema.find(".".join(p), case_sensitive=False) is not None]

    def drop(update: Any) -> None:
        for path in there:
            update.delete_column(path)

    tokens.end()
    if there:
        _schema(table, tokens, drop)


def _column_list(tokens: Tokens) -> list[tuple[str, ...]]:
    found = [tokens.names("a column name")]
    while tokens.accept(","):
        found.append(tokens.names("a column name"))
    return found


def _rename(table: Table, tokens: Tokens) -> None:
    path = tokens.names("a column name")
    tokens.expect("TO")
    new = tokens.name("a new name")
    _schema(table, tokens, lambda update: update.rename_column(path, new))


def _drop_key(table: Table, tokens: Tokens, paths: list[tuple[str, ...]]) -> None:
    gone = {table.schema.field(".".join(p), case_sensitive=False).id for p in paths}
    kept = [table.schema.name_of(i) for i in table.schema.identifier_field_ids if i not in gone]
    _schema(table, tokens, lambda update: update.set_identifier_fields(kept))


def _alter_column(spark: Any, table: Table, tokens: Tokens, *, is_change: bool) -> None:
    path = tokens.names("a column name")
    if is_change and not tokens.looks_at_any("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP"):
        _change_column(table, tokens, path)
    elif tokens.accept("TYPE"):
        type_ = parse_type(tokens)
        _schema(table, tokens, lambda update: update.update_column(path, type=type_))
    elif tokens.accept("COMMENT"):
        doc = tokens.string("a comment in quotes")
        _schema(table, tokens, lambda update: update.update_column(path, doc=doc))
    elif tokens.accept("FIRST"):
        _schema(table, tokens, lambda update: update.move_first(path))
    elif tokens.accept("AFTER"):
        other = (*path[:-1], tokens.name("a column name"))
        _schema(table, tokens, lambda update: update.move_after(path, other))
    elif tokens.accept("SET", "NOT", "NULL"):
        _schema(table, tokens, lambda update: update.require_column(path), allow_incompatible=True)
    elif tokens.accept("DROP", "NOT", "NULL"):
        _schema(table, tokens, lambda update: update.make_column_optional(path))
    elif tokens.accept("SET", "DEFAULT"):
        field = table.schema.field(".".join(path), case_sensitive=False)
        value = constant(spark, tokens.rest(), to_spark_type(field.type), what=f"default of {field.name}")
        stored = from_python(field.type, value)
        _schema(table, tokens, lambda update: update.set_default(path, stored))
    elif tokens.accept("DROP", "DEFAULT"):
        _schema(table, tokens, lambda update: update.set_default(path, None))
    else:
        tokens.fail("TYPE, COMMENT, FIRST, AFTER, SET NOT NULL, DROP NOT NULL, SET DEFAULT or DROP DEFAULT")


def _change_column(table: Table, tokens: Tokens, path: tuple[str, ...]) -> None:
    """Hive's spelling, with the name once more: CHANGE COLUMN a a BIGINT COMMENT 'wider' FIRST."""
    place = tokens.at
    column = parse_column(tokens)
    if column.name.lower() != path[-1].lower():
        tokens.at = place
        tokens.fail(f"{path[-1]} again, because RENAME COLUMN renames")

    def change(update: Any) -> None:
        update.update_column(path, type=column.type)
        if column.doc is not None:
            update.update_column(path, doc=column.doc)
        if column.first:
            update.move_first(path)
        if column.after is not None:
            update.move_after(path, (*path[:-1], column.after))

    if column.required or column.default is not None:
        tokens.fail("a type, COMMENT, FIRST or AFTER only")
    _schema(table, tokens, change)


# -- properties, partitions, order


def _set_properties(table: Table, properties: dict[str, str]) -> None:
    version = properties.pop("format-version", None)
    if version is not None and not version.isdigit():
        raise InvalidInput(f"Invalid format-version {version!r}: expected 1, 2 or 3.")
    with table.transaction() as change:
        if version is not None and int(version) != table.format_version:
            change.upgrade(int(version))
        if properties:
            change.set_properties(properties)


def _add_partition_field(table: Table, tokens: Tokens) -> None:
    term = parse_term_text(tokens, "AS")
    name = tokens.name("a partition field's name") if tokens.accept("AS") else None
    _spec(table, tokens, lambda update: update.add_term(term, name))


def _drop_partition_field(table: Table, tokens: Tokens) -> None:
    term = parse_term_text(tokens, "AS")
    _spec(table, tokens, lambda update: _remove_term(table, update, term))


def _replace_partition_field(table: Table, tokens: Tokens) -> None:
    old = parse_term_text(tokens, "WITH")
    tokens.expect("WITH")
    new = parse_term_text(tokens, "AS")
    name = tokens.name("a partition field's name") if tokens.accept("AS") else None

    def change(update: Any) -> None:
        _remove_term(table, update, old)
        update.add_term(new, name)

    _spec(table, tokens, change)


def _remove_term(table: Table, update: Any, term: str) -> None:
    """Remove a partition field by its name or by its term."""
    name = term.strip("`")
    if name in {f.name for f in table.spec.fields}:
        update.remove_field(name)
    else:
        update.remove_term(term)


def _write_order(table: Table, tokens: Tokens) -> None:
    """`WRITE [DISTRIBUTED BY PARTITION] [LOCALLY] ORDERED BY terms` or `WRITE UNORDERED`."""
    distributed = tokens.accept("DISTRIBUTED", "BY", "PARTITION")
    if tokens.accept("UNORDERED"):
        terms: list[str] = []
        mode = "hash" if distributed else "none"
    else:
        locally = tokens.accept("LOCALLY")
        terms = _order_terms(tokens) if tokens.accept("ORDERED", "BY") else []
        if not terms and not distributed:
            tokens.fail("DISTRIBUTED BY PARTITION, LOCALLY, ORDERED BY or UNORDERED")
        mode = "hash" if distributed else ("none" if locally else "range")
    tokens.end()
    with table.transaction() as change:
        change.apply(UpdateSortOrder(build=lambda schema: build_sort_order(schema, terms, case_sensitive=False)))
        change.set_properties({"write.distribution-mode": mode})


def _order_terms(tokens: Tokens) -> list[str]:
    found = [parse_term_text(tokens, ",")]
    while tokens.accept(","):
        found.append(parse_term_text(tokens, ","))
    return found
