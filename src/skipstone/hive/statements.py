"""HiveQL statements about statistics, from text to values.

    ANALYZE TABLE t [PARTITION(k[=v], ...)] COMPUTE STATISTICS [FOR COLUMNS [c1, c2, ...]] [NOSCAN]
    DESCRIBE [FORMATTED|EXTENDED] t [PARTITION(k=v, ...)] [column]
    ALTER TABLE t [PARTITION(k=v, ...)] UPDATE STATISTICS FOR [COLUMN] c SET ('numDVs'='10', ...) [COMMENT '...']
    ALTER TABLE t [PARTITION(k=v, ...)] DROP STATISTICS FOR COLUMNS [c1, c2, ...]

Keywords may have any case; a name in back-quotes may have any characters. Aliases are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from skipstone.hive.errors import HiveInvalid
from skipstone.hive.partition_names import NULL_NAME
from skipstone.hive.tokens import Token, TokenKind, quoted_name, syntax_error, tokens_of

_RESERVED: Final = ("PARTITION", "COMPUTE", "FOR", "NOSCAN", "UPDATE", "SET", "DROP", "AS")


class DescribeForm(Enum):
    PLAIN = "plain"
    FORMATTED = "formatted"
    EXTENDED = "extended"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableName:
    """A table as typed: its database may be left out."""

    database: str | None
    table: str

    def __str__(self) -> str:
        return ".".join(quoted_name(part) for part in (self.database, self.table) if part is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKey:
    """One key of a partition clause. Without a value it is dynamic: every value there is."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyze:
    table: TableName
    partition: tuple[PartitionKey, ...] = ()
    is_for_columns: bool = False
    columns: tuple[str, ...] = ()
    is_without_scan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    """`column` is a path: a column, then fields of structs or `$elem$`, `$key$`, `$value$`."""

    table: TableName
    form: DescribeForm = DescribeForm.PLAIN
    partition: tuple[PartitionKey, ...] = ()
    column: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateStatistics:
    table: TableName
    column: str
    values: tuple[tuple[str, str], ...]
    partition: tuple[PartitionKey, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropStatistics:
    """No columns means all of them."""

    table: TableName
    columns: tuple[str, ...] = ()
    partition: tuple[PartitionKey, ...] = ()


Statement: TypeAlias = Analyze | Describe | UpdateStatistics | DropStatistics


def parse_statement(text: str) -> Statement:
    """One statement; anything else raises HiveInvalid, which points at the place."""
    return _Parser(text).statement()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._at = 0

    def statement(self) -> Statement:
        token = self._take()
        if token.is_word("ANALYZE"):
            parsed: Statement = self._analyze()
        elif token.is_word("DESCRIBE", "DESC"):
            parsed = self._describe()
        elif token.is_word("ALTER"):
            parsed = self._alter()
        else:
            raise self._error(token, "expected ANALYZE, DESCRIBE or ALTER")
        if self._peek().kind is not TokenKind.END:
            raise self._error(self._peek(), "expected the end of the statement")
        return parsed

    def _analyze(self) -> Analyze:
        self._keywords("TABLE")
        table, partition = self._target("ANALYZE TABLE {table} COMPUTE STATISTICS FOR COLUMNS")
        self._keywords("COMPUTE", "STATISTICS")
        is_for_columns, columns = False, ()
        if self._optional("FOR"):
            self._optional("ALL")
            self._keywords("COLUMNS")
            is_for_columns, columns = True, self._columns(table)  # type: ignore[assignment]
        is_without_scan = self._optional("NOSCAN")
        if is_without_scan and is_for_columns:
            raise self._error(
                self._tokens[self._at - 1], "NOSCAN cannot be used for columns, their statistics need a scan"
            )
        return Analyze(
            table=table,
            partition=partition,
            is_for_columns=is_for_columns,
            columns=columns,
            is_without_scan=is_without_scan,
        )

    def _describe(self) -> Describe:
        form = DescribeForm.PLAIN
        # A table may be called `formatted`: the word is a keyword only if a name follows.
        following = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else self._peek()
        if self._peek().is_word("FORMATTED", "EXTENDED") and following.kind in (TokenKind.WORD, TokenKind.QUOTED):
            form = DescribeForm(self._take().text.lower())
        self._optional("TABLE")
        table = self._table()
        partition = self._partition()
        column: tuple[str, ...] = ()
        if self._peek().kind in (TokenKind.WORD, TokenKind.QUOTED):
            column = self._path()
        if not partition:
            partition = self._partition()
        return Describe(table=table, form=form, partition=partition, column=column)

    def _alter(self) -> UpdateStatistics | DropStatistics:
        self._keywords("TABLE")
        table, partition = self._target("ALTER TABLE {table} UPDATE STATISTICS FOR COLUMN c SET ('numDVs'='10')")
        if self._optional("DROP"):
            self._keywords("STATISTICS", "FOR", "COLUMNS")
            return DropStatistics(table=table, partition=partition, columns=self._columns(table))
        self._keywords("UPDATE", "STATISTICS", "FOR")
        # The word may be left out, and a column may have its name.
        following = self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        if self._peek().is_word("COLUMN") and not following.is_word("SET"):
            self._take()
        column = self._column(table)
        self._keywords("SET")
        values = self._assignments()
        if self._optional("COMMENT"):
            self._take_text("a comment")
        return UpdateStatistics(table=table, partition=partition, column=column, values=values)

    def _target(self, right_form: str) -> tuple[TableName, tuple[PartitionKey, ...]]:
        table = self._table()
        self._refuse_table_alias(table, right_form)
        partition = self._partition()
        self._refuse_table_alias(table, right_form)
        return table, partition

    def _refuse_table_alias(self, table: TableName, right_form: str) -> None:
        token = self._peek()
        is_alias = token.kind is TokenKind.QUOTED or (
            token.kind is TokenKind.WORD and (token.is_word("AS") or not token.is_word(*_RESERVED))
        )
        if is_alias and not token.is_word("RENAME", "ADD", "CHANGE", "REPLACE", "TOUCH", "CONCATENATE"):
            raise self._error(
                token, "a table alias is not supported here", hint=f"Write: {right_form.format(table=table)}"
            )

    def _table(self) -> TableName:
        first = self._name("a table")
        if not self._sign("."):
            return TableName(database=None, table=first)
        return TableName(database=first, table=self._name("a table"))

    def _partition(self) -> tuple[PartitionKey, ...]:
        if not self._optional("PARTITION"):
            return ()
        self._expect_sign("(")
        keys = [self._partition_key()]
        while self._sign(","):
            token = self._peek()
            key = self._partition_key()
            if any(key.name.lower() == known.name.lower() for known in keys):
                raise self._error(token, f"expected each partition key once, got {key.name!r} again", got=False)
            keys.append(key)
        self._expect_sign(")")
        return tuple(keys)

    def _partition_key(self) -> PartitionKey:
        name = self._name("a partition key")
        if not self._sign("="):
            return PartitionKey(name=name, value=None)
        token = self._take()
        if token.is_word("NULL"):
            return PartitionKey(name=name, value=NULL_NAME)
        if token.kind not in (TokenKind.TEXT, TokenKind.NUMBER) and not token.is_word("TRUE", "FALSE"):
            if token.is_word("DATE", "TIMESTAMP") and self._peek().kind is TokenKind.TEXT:
                token = self._take()
            else:
                raise self._error(token, f"expected a value for partition key {name!r}, a text or a number")
        return PartitionKey(name=name, value=token.text.lower() if token.kind is TokenKind.WORD else token.text)

    def _columns(self, table: TableName) -> tuple[str, ...]:
        if self._peek().kind is TokenKind.END or self._peek().is_word("NOSCAN"):
            return ()
        columns: list[str] = []
        while True:
            token = self._peek()
            column = self._column(table)
            if column.lower() in (known.lower() for known in columns):
                raise self._error(token, f"expected each column once, got {column!r} again", got=False)
            columns.append(column)
            if not self._sign(","):
                return tuple(columns)

    def _column(self, table: TableName) -> str:
        start = self._peek()
        name = self._name("a column")
        if self._peek().is_sign("."):
            self._take()
            last = self._name("a column")
            raise self._error(
                start,
                f"a column of {table} is named without a table or an alias before it",
                hint=f"Write: {quoted_name(last)}",
                got=False,
            )
        token = self._peek()
        if token.is_word("AS") or token.kind is TokenKind.QUOTED or self._is_stray_word(token):
            raise self._error(token, "a column alias is not supported here", hint=f"Write: {quoted_name(name)}")
        return name

    def _is_stray_word(self, token: Token) -> bool:
        return token.kind is TokenKind.WORD and not token.is_word("NOSCAN", "SET")

    def _path(self) -> tuple[str, ...]:
        parts = [self._name("a column")]
        while self._sign("."):
            parts.append(self._name("a field"))
        return tuple(parts)

    def _assignments(self) -> tuple[tuple[str, str], ...]:
        self._expect_sign("(")
        pairs: list[tuple[str, str]] = []
        while True:
            key = self._take_text("a statistic's name, such as 'numDVs',")
            self._expect_sign("=")
            value = self._take()
            if value.kind not in (TokenKind.TEXT, TokenKind.NUMBER):
                raise self._error(value, f"expected a value for {key!r}, a text")
            pairs.append((key, value.text))
            if not self._sign(","):
                break
        self._expect_sign(")")
        return tuple(pairs)

    def _take_text(self, what: str) -> str:
        token = self._take()
        if token.kind is not TokenKind.TEXT:
            raise self._error(token, f"expected {what} as a text")
        return token.text

    def _name(self, what: str) -> str:
        token = self._take()
        is_name = token.kind is TokenKind.QUOTED and token.text
        if not is_name and not (token.kind is TokenKind.WORD and not token.is_word(*_RESERVED)):
            raise self._error(token, f"expected the name of {what}", hint="Put a reserved word in back-quotes.")
        return token.text

    def _keywords(self, *words: str) -> None:
        for word in words:
            token = self._take()
            if not token.is_word(word):
                raise self._error(token, f"expected {word}")

    def _optional(self, word: str) -> bool:
        if not self._peek().is_word(word):
            return False
        self._take()
        return True

    def _sign(self, sign: str) -> bool:
        if not self._peek().is_sign(sign):
            return False
        self._take()
        return True

    def _expect_sign(self, sign: str) -> None:
        token = self._take()
        if not token.is_sign(sign):
            raise self._error(token, f"expected {sign!r}")

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _error(self, token: Token, problem: str, *, hint: str = "", got: bool = True) -> HiveInvalid:
        return syntax_error(self._text, token.start, f"{problem}{f', got {token.shown}' if got else ''}", hint=hint)
