"""Conditions on Arrow columns, and filters that Spark pushes down to a data source.

What is accepted here Spark does not check again, so a condition keeps exactly the rows for which SQL's is
true: where a value is null, none but a test for null is.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter

_COMPARISONS: Final = {
    "EqualTo": "equal",
    "GreaterThan": "greater",
    "GreaterThanOrEqual": "greater_equal",
    "LessThan": "less",
    "LessThanOrEqual": "less_equal",
}
_TEXTS: Final = {
    "StringStartsWith": "starts_with",
    "StringEndsWith": "ends_with",
    "StringContains": "match_substring",
}
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One comparison of a column. `kind` is the name of Spark's class, `value` None for a test for null.

    Times are datetimes with a time zone; `In` has a tuple.
    """

    column: str
    kind: str
    value: Any = None
    negated: bool = False

    def mask(self, values: Any) -> Any:
        """True for each row that is kept, of an Arrow array of the column."""
        import pyarrow as pa
        import pyarrow.compute as pc

        functions: Any = pc
        if self.kind in ("IsNull", "IsNotNull"):
            is_kept = (self.kind == "IsNull") != self.negated
            return pc.is_null(values) if is_kept else pc.is_valid(values)
        if self.kind == "In":
            known = pc.is_in(values, value_set=pa.array(self.value, _plain(values.type)))
            found = pc.if_else(pc.is_valid(values), known, None)
        elif self.kind in _COMPARISONS:
            scalar = pa.scalar(self.value, _plain(values.type))
            found = getattr(functions, _COMPARISONS[self.kind])(values, scalar)
        else:
            found = getattr(functions, _TEXTS[self.kind])(values, pattern=self.value)
        if self.negated:
            found = pc.invert(found)
        return pc.fill_null(found, False)


def accepted(filters: Iterable["Filter"], schema: "pa.Schema") -> list[tuple["Filter", Condition | None]]:
    """Each filter with its condition, None for one that Spark has to check. Columns are those of `schema`."""
    return [(each, _condition(each, schema)) for each in filters]


def mask_of(conditions: Sequence[Condition], column: Callable[[str], Any]) -> Any:
    """An Arrow array, True for each row for which all conditions hold; None if there are no conditions.

    `column` gives a column by its name.
    """
    import pyarrow.compute as pc

    both: Callable[[Any, Any], Any] = pc.and_
    masks = [each.mask(column(each.column)) for each in conditions]
    return reduce(both, masks) if masks else None


def values_asked(conditions: Iterable[Condition], column: str) -> frozenset[Any] | None:
    """The only values that a column may have by the conditions; None if they do not name them."""
    named: frozenset[Any] | None = None
    for each in conditions:
        if each.column != column or each.negated or each.kind not in ("EqualTo", "In"):
            continue
        values = frozenset(each.value if each.kind == "In" else (each.value,))
        named = values if named is None else named & values
    return named


def not_before_ms(conditions: Iterable[Condition], column: str) -> int | None:
    """The earliest time (epoch ms) that a column may have by the conditions; None if any."""
    times = [
        _epoch_ms(each.value)
        for each in conditions
        if each.column == column
        and not each.negated
        and each.kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual")
    ]
    return max(times, default=None)


def _condition(each: "Filter", schema: "pa.Schema") -> Condition | None:
    from pyspark.sql import datasource as spark

    negated = isinstance(each, spark.Not)
    inner: Any = each.child if isinstance(each, spark.Not) else each
    kind = type(inner).__name__
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    if len(path) != 1 or path[0] not in schema.names:
        return None
    column, column_type = path[0], schema.field(path[0]).type
    if kind in ("IsNull", "IsNotNull"):
        return Condition(column=column, kind=kind, negated=negated)
    value = inner.value
    if kind == "EqualNullSafe":  # with null it is a test for null, negated it lets null pass
        if value is None or negated:
            return None
        kind = "EqualTo"
    if kind == "In":
        value = tuple(value)
        fits = bool(value) and all(_fits(one, column_type) for one in value)
    elif kind in _TEXTS:
        fits = isinstance(value, str) and _is_text(column_type)
    else:
        fits = kind in _COMPARISONS and _fits(value, column_type)
    return Condition(column=column, kind=kind, value=value, negated=negated) if fits else None


def _fits(value: Any, column_type: "pa.DataType") -> bool:
    import pyarrow as pa

    if isinstance(value, bool):
        return pa.types.is_boolean(column_type)
    if isinstance(value, int):
        return (
            pa.types.is_integer(column_type) and -(2**63) <= value < 2**63 and _in_range(value, column_type)
        )
    if isinstance(value, datetime):
        return pa.types.is_timestamp(column_type) and value.tzinfo is not None
    return isinstance(value, str) and _is_text(column_type)


def _in_range(value: int, column_type: "pa.DataType") -> bool:
    bits = column_type.bit_width
    return bool(-(2 ** (bits - 1)) <= value < 2 ** (bits - 1))


def _is_text(column_type: "pa.DataType") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(_plain(column_type)))


def _plain(column_type: "pa.DataType") -> "pa.DataType":
    """The type of the values, where a column is a dictionary of them."""
    import pyarrow as pa

    if isinstance(column_type, pa.DictionaryType):
        value_type: pa.DataType = column_type.value_type
        return value_type
    return column_type


def _epoch_ms(time: datetime) -> int:
    """Rounded down, so that nothing is passed over."""
    return (time - EPOCH) // _MS
