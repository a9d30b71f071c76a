"""Laws of schema evolution, over random schemas and random sequences of changes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
)

NAMES = st.sampled_from(["a", "b", "c", "A", "x.y", "element", "value"])
LEAVES = st.sampled_from([INT, LONG, FLOAT, DOUBLE, DATE, TIMESTAMP, STRING, UNKNOWN, DecimalType(9, 2)])


@st.composite
def nested_types(draw, depth: int = 2):
    """Any type; ids are all 0, since an update numbers what is new."""
    kind = draw(st.sampled_from(["leaf", "leaf", "struct", "list", "map"] if depth else ["leaf"]))
    if kind == "leaf":
        return draw(LEAVES)
    below = nested_types(depth - 1)
    if kind == "list":
        return ListType(element_id=0, element=draw(below))
    if kind == "map":
        # A key is required, so it is never of type unknown.
        return MapType(key_id=0, key=draw(below.filter(lambda t: t != UNKNOWN)), value_id=0, value=draw(below))
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    return StructType(tuple(Field(id=0, name=n, type=draw(below)) for n in names))


@st.composite
def schemas(draw) -> Schema:
    update = SchemaUpdate(Schema(fields=()), format_version=3, allow_incompatible=True)
    for name in draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)):
        type_ = draw(nested_types())
        update.add_column((name,), type_, required=type_ != UNKNOWN and draw(st.booleans()))
    return update.apply()


@st.composite
def changes(draw, schema: Schema, update: SchemaUpdate):
    """One call on an update: which, on what, with what. Many will be refused."""
    new = (names for name in "abcA" if update.find(names := (name,)) is not None)
    paths = [*schema.paths_by_id.values(), *new, ("nope",)]
    path = draw(st.sampled_from(paths))
    other = draw(st.sampled_from(paths))
    name = draw(NAMES)
    return draw(
        st.sampled_from(
            [
                ("add_column", (path, name), {"type": draw(nested_types(1))}),
                ("add_column", (name,), {"type": draw(LEAVES), "after": other}),
                ("add_column", (*path[:-1], name), {"type": INT, "required": True, "default": 3}),
                ("delete_column", path, {}),
                ("rename_column", path, {"new_name": name}),
                ("update_column", path, {"type": draw(LEAVES), "doc": "d"}),
                ("update_column", path, {"type": draw(LEAVES)}),
                ("make_column_optional", path, {}),
                ("require_column", path, {}),
                ("set_default", path, {"value": draw(st.sampled_from([None, 1, {}]))}),
                ("move_first", path, {}),
                ("move_after", path, {"other": other}),
                ("move_before", path, {"other": other}),
            ]
        )
    )


def flatten(path) -> tuple[str, ...]:
    head, *rest = path
    return (*head, *rest) if isinstance(head, tuple) else tuple(path)


def snapshot(update: SchemaUpdate):
    """What an update has come to so far, whether or not it could be applied."""
    try:
        return repr(update.apply()), update.last_column_id
    except (InvalidInput, NotFound) as e:
        return str(e), update.last_column_id


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_sequence_of_updates_keeps_the_laws(data):
    schema = data.draw(schemas())
    history = [schema]
    last = schema.highest_field_id
    ever = set(schema.fields_by_id)
    for _ in range(data.draw(st.integers(1, 3))):
        update = SchemaUpdate(schema, format_version=3, last_column_id=last, schemas=history)
        touched: set[int] = set()
        for _ in range(data.draw(st.integers(1, 6))):
            call, path, arguments = data.draw(changes(schema, update))
            before, target = snapshot(update), update.find(flatten(path))
            try:
                getattr(update, call)(flatten(path), **arguments)
            except (InvalidInput, NotFound):
                assert snapshot(update) == before, "a refused call leaves the update as it was"
                continue
            if target is not None and call != "add_column":
                touched.add(target.id)
        try:
            changed = update.apply()
        except InvalidInput:
            continue
        _check_ids(schema, changed, ever, last, update)
        _check_untouched(schema, changed, touched)
        _check_schema_id(changed, history)
        ever |= set(changed.fields_by_id)
        last = update.last_column_id
        history.append(changed)
        schema = changed


def _check_ids(before: Schema, after: Schema, ever: set[int], last: int, update: SchemaUpdate) -> None:
    new = set(after.fields_by_id) - set(before.fields_by_id)
    assert not new & ever, "an id is never used again"
    assert all(i > last for i in new)
    assert update.last_column_id >= max((last, *after.fields_by_id))


def _check_untouched(before: Schema, after: Schema, touched: set[int]) -> None:
    for field_id, old in before.fields_by_id.items():
        chain = {field_id, *(a.id for a in before.ancestors(field_id))}
        if chain & touched:
            continue
        new = after.field(field_id)
        assert (new.name, new.required, new.doc) == (old.name, old.required, old.doc)
        assert (new.initial_default, new.write_default) == (old.initial_default, old.write_default)
        assert type(new.type) is type(old.type)
        assert before.parents_by_id.get(field_id) == after.parents_by_id.get(field_id), "no field changes its struct"


def _check_schema_id(changed: Schema, history: list[Schema]) -> None:
    known = {s.schema_id: s for s in history}
    if changed.schema_id in known:
        assert known[changed.schema_id].same_as(changed)
    else:
        assert changed.schema_id == max(known) + 1


@settings(max_examples=100, deadline=None)
@given(schemas(), schemas())
def test_a_merged_schema_has_the_columns_of_both_and_merging_again_changes_nothing(one, two):
    try:
        merged = SchemaUpdate(one, format_version=3).union_by_name(two).apply()
    except InvalidInput:
        return
    assert set(merged.paths_by_id.values()) >= set(one.paths_by_id.values()) | set(two.paths_by_id.values())
    again = SchemaUpdate(merged, format_version=3).union_by_name(two).apply()
    assert again == merged


@settings(max_examples=60, deadline=None)
@given(schemas())
def test_a_schema_merged_with_itself_is_itself(schema):
    assert SchemaUpdate(schema, format_version=3).union_by_name(schema).apply() == schema
