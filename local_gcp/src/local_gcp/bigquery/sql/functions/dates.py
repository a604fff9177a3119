"""Date and time: constructors, arithmetic, truncation, differences, EXTRACT.

Weeks begin on Sunday unless WEEK(DAY) says otherwise; ISOWEEK begins on Monday.
https://cloud.google.com/bigquery/docs/reference/standard-sql/date_functions and sibling pages
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from local_gcp.bigquery.sql.context import Context
from local_gcp.bigquery.sql.dispatch import translate, translate_as
from local_gcp.bigquery.sql.types import (
    DATE,
    DATETIME,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Type,
    Value,
    coerce,
    literal,
)

from .signatures import no_signature, table

SIGNATURES = table("""
CURRENT_DATE(STRING) -> DATE = CAST(timezone({0}, bq_now()) AS DATE)
DATE(INT64, INT64, INT64) -> DATE = make_date({0}, {1}, {2})
DATE(DATE) -> DATE = {0}
DATE(DATETIME) -> DATE = CAST({0} AS DATE)
DATE(TIMESTAMP) -> DATE = CAST({0} AS DATE)
DATE(TIMESTAMP, STRING) -> DATE = CAST(timezone({1}, {0}) AS DATE)
DATETIME(INT64, INT64, INT64, INT64, INT64, INT64) -> DATETIME =
    make_timestamp({0}, {1}, {2}, {3}, {4}, CAST({5} AS DOUBLE))
DATETIME(DATE) -> DATETIME = CAST({0} AS TIMESTAMP)
DATETIME(DATE, TIME) -> DATETIME = ({0} + {1})
DATETIME(DATETIME) -> DATETIME = {0}
DATETIME(TIMESTAMP) -> DATETIME = CAST({0} AS TIMESTAMP)
DATETIME(TIMESTAMP, STRING) -> DATETIME = timezone({1}, {0})
TIME(INT64, INT64, INT64) -> TIME = make_time({0}, {1}, CAST({2} AS DOUBLE))
TIME(DATETIME) -> TIME = CAST({0} AS TIME)
TIME(TIMESTAMP) -> TIME = CAST(CAST({0} AS TIMESTAMP) AS TIME)
TIME(TIMESTAMP, STRING) -> TIME = CAST(timezone({1}, {0}) AS TIME)
TIMESTAMP(TIMESTAMP) -> TIMESTAMP = {0}
TIMESTAMP(STRING) -> TIMESTAMP = CAST({0} AS TIMESTAMP WITH TIME ZONE)
TIMESTAMP(DATE) -> TIMESTAMP = CAST({0} AS TIMESTAMP WITH TIME ZONE)
TIMESTAMP(DATETIME) -> TIMESTAMP = CAST({0} AS TIMESTAMP WITH TIME ZONE)
TIMESTAMP(STRING, STRING) -> TIMESTAMP = timezone({1}, CAST({0} AS TIMESTAMP))
TIMESTAMP(DATE, STRING) -> TIMESTAMP = timezone({1}, CAST({0} AS TIMESTAMP))
TIMESTAMP(DATETIME, STRING) -> TIMESTAMP = timezone({1}, {0})
UNIX_DATE(DATE) -> INT64 = CAST({0} - DATE '1970-01-01' AS BIGINT)
UNIX_SECONDS(TIMESTAMP) -> INT64 = bq_floor_divide(epoch_us({0}), 1000000)
UNIX_MILLIS(TIMESTAMP) -> INT64 = bq_floor_divide(epoch_us({0}), 1000)
UNIX_MICROS(TIMESTAMP) -> INT64 = epoch_us({0})
DATE_FROM_UNIX_DATE(INT64) -> DATE = (DATE '1970-01-01' + CAST({0} AS INTEGER))
TIMESTAMP_SECONDS(INT64) -> TIMESTAMP =
    CAST(make_timestamp({0} * 1000000) AS TIMESTAMP WITH TIME ZONE)
TIMESTAMP_MILLIS(INT64) -> TIMESTAMP = CAST(make_timestamp({0} * 1000) AS TIMESTAMP WITH TIME ZONE)
TIMESTAMP_MICROS(INT64) -> TIMESTAMP = CAST(make_timestamp({0}) AS TIMESTAMP WITH TIME ZONE)
STRING(TIMESTAMP, STRING) -> STRING = ! with a time zone
""")

_DAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
_CLOCK = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
}
_DAY = 86_400_000_000
_CALENDAR = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_SHIFTS = {
    "MICROSECOND": "to_microseconds({0})",
    "MILLISECOND": "to_microseconds({0} * 1000)",
    "SECOND": "to_microseconds({0} * 1000000)",
    "MINUTE": "to_minutes({0})",
    "HOUR": "to_hours({0})",
    "DAY": "to_days(CAST({0} AS INTEGER))",
    "WEEK": "to_days(CAST({0} * 7 AS INTEGER))",
    "MONTH": "to_months(CAST({0} AS INTEGER))",
    "QUARTER": "to_months(CAST({0} * 3 AS INTEGER))",
    "YEAR": "to_years(CAST({0} AS INTEGER))",
}
_PARTS = {  # of DuckDB's interval for each type, and of *_ADD
    "DATE": _CALENDAR,
    "TIME": tuple(_CLOCK),
    "DATETIME": (*_CLOCK, *_CALENDAR),
    "TIMESTAMP": (*_CLOCK, "DAY"),
}


def part_of(ctx: Context, node: exp.Expression) -> tuple[str, int]:
    """A date part and, for weeks, their first day (0 is Sunday)."""
    name = node.name.upper()
    if isinstance(node, exp.Anonymous | exp.WeekStart) and name in ("WEEK", *_DAYS):
        day = node.expressions[0].name.upper() if node.expressions else name
        if day not in _DAYS:
            raise ctx.error(
                f"A valid date part argument for WEEK is required, but found {day}", node
            )
        return "WEEK", _DAYS.index(day)
    if not isinstance(node, exp.Column | exp.Var | exp.Identifier):
        raise ctx.error(
            f"A valid date part name is required but found {node.sql('bigquery')}", node
        )
    return ("WEEK", 1) if name == "ISOWEEK" else (name, 0)


def _operand(ctx: Context, node: exp.Expression, wanted: Type | None) -> Value:
    """A date or time; a literal string is parsed as type `wanted`."""
    value = translate(ctx, node)
    if wanted is not None and (value.null or value.type == STRING):
        sql = coerce(value, wanted)
        if sql is not None:
            return Value(sql, wanted)
    return value


def shifted(
    ctx: Context,
    operand: exp.Expression,
    interval: exp.Interval,
    back: bool,
    node: exp.Expression,
    wanted: Type | None = None,
) -> Value:
    """`operand` plus or minus an INTERVAL."""
    value = _operand(ctx, operand, wanted)
    what = node.name.upper() if isinstance(node, exp.Anonymous) else "INTERVAL arithmetic"
    if not isinstance(interval, exp.Interval):
        raise ctx.error(f"Expected INTERVAL expression in {what}", node)
    unit = interval.args.get("unit")
    if not isinstance(unit, exp.Var) or value.type.name not in _PARTS:
        raise ctx.not_emulated(f"INTERVAL {interval.sql('bigquery')} with {value.type}", node)
    part = unit.name.upper()
    if part not in _PARTS[value.type.name]:
        raise ctx.error(f"{what} does not support the {part} date part for {value.type}", node)
    amount = interval.this
    if isinstance(amount, exp.Literal):
        number = f"CAST({int(amount.this)} AS BIGINT)"
    else:
        number = translate_as(ctx, amount, INT64, "Interval value")
    step = _SHIFTS[part].format(number)
    sql = f"({value.sql} {'-' if back else '+'} {step})"
    return Value(f"CAST({sql} AS {value.type.duckdb})", value.type)


def add(ctx: Context, node: exp.Anonymous) -> Value:
    """DATE_ADD, DATETIME_SUB, TIMESTAMP_ADD, ... (name says which)."""
    kind, _, verb = node.name.upper().rpartition("_")
    if len(node.expressions) != 2:
        raise ctx.error(f"No matching signature for function {node.name.upper()}", node)
    return shifted(ctx, *node.expressions, verb == "SUB", node, Type(kind))


def truncate(ctx: Context, node: exp.Anonymous) -> Value:
    """DATE_TRUNC, DATETIME_TRUNC, TIMESTAMP_TRUNC, TIME_TRUNC."""
    kind = Type(node.name.upper().rpartition("_")[0])
    value = _operand(ctx, node.expressions[0], kind)
    part, first_day = part_of(ctx, node.expressions[1]) if len(node.expressions) > 1 else ("DAY", 0)
    known = (*_PARTS["DATETIME"], "ISOYEAR")
    if value.type == DATE:
        known = (*_CALENDAR, "ISOYEAR")
    elif value.type == TIME:
        known = tuple(_CLOCK)
    if value.type.name not in _PARTS or part not in known:
        raise ctx.error(f"{node.name.upper()} does not support the {part} date part", node)
    zone = None
    if len(node.expressions) > 2:
        zone = translate_as(ctx, node.expressions[2], STRING, "Time zone")
    if value.type == TIME:
        micros = _CLOCK[part]
        of_day = f"epoch_us(DATE '1970-01-01' + {value.sql})"
        sql = f"CAST(make_timestamp({of_day} // {micros} * {micros}) AS TIME)"
        return Value(sql, TIME)
    local = value.sql
    if value.type == TIMESTAMP:
        local = f"timezone({zone}, {value.sql})" if zone else f"CAST({value.sql} AS TIMESTAMP)"
    sql = _truncated(local, part, first_day)
    if zone:
        return Value(f"timezone({zone}, CAST({sql} AS TIMESTAMP))", TIMESTAMP)
    return Value(f"CAST({sql} AS {value.type.duckdb})", value.type)


def _truncated(sql: str, part: str, first_day: int) -> str:
    if part == "WEEK":
        return f"bq_week_start(CAST({sql} AS DATE), {first_day})"
    return f"date_trunc('{part.lower()}', {sql})"


def difference(ctx: Context, node: exp.Anonymous) -> Value:
    """DATE_DIFF, DATETIME_DIFF, TIME_DIFF: boundaries crossed; TIMESTAMP_DIFF: whole units."""
    if len(node.expressions) != 3:
        raise ctx.error(f"No matching signature for function {node.name.upper()}", node)
    kind = Type(node.name.upper().rpartition("_")[0])
    later, earlier = (_operand(ctx, n, kind) for n in node.expressions[:2])
    part, first_day = part_of(ctx, node.expressions[2])
    if kind == TIMESTAMP or later.type == TIMESTAMP:
        kind = TIMESTAMP
    elif DATETIME in (later.type, earlier.type):
        kind = DATETIME
    a, b = coerce(later, kind), coerce(earlier, kind)
    if a is None or b is None:
        raise no_signature(ctx, node.name.upper(), [later, earlier], node)
    if kind == TIMESTAMP:
        micros = {**_CLOCK, "DAY": _DAY}.get(part)
        if micros is None:
            raise ctx.error(f"TIMESTAMP_DIFF does not support the {part} date part", node)
        return Value(f"((epoch_us({a}) - epoch_us({b})) // {micros})", INT64)
    known = {"DATE": (*_CALENDAR, "ISOYEAR"), "TIME": tuple(_CLOCK)}.get(
        kind.name, (*_CLOCK, *_CALENDAR, "ISOYEAR")
    )
    if part not in known:
        raise ctx.error(f"{node.name.upper()} does not support the {part} date part", node)
    if kind == TIME:
        a, b = f"(DATE '1970-01-01' + {a})", f"(DATE '1970-01-01' + {b})"
    if part == "WEEK":
        weeks = (f"bq_week_start(CAST({x} AS DATE), {first_day})" for x in (a, b))
        return Value(f"CAST(({' - '.join(weeks)}) // 7 AS BIGINT)", INT64)
    return Value(f"date_diff('{part.lower()}', {b}, {a})", INT64)


_EXTRACTS = {
    "YEAR": "year({0})",
    "ISOYEAR": "isoyear({0})",
    "QUARTER": "quarter({0})",
    "MONTH": "month({0})",
    "DAY": "day({0})",
    "DAYOFWEEK": "(dayofweek({0}) + 1)",
    "DAYOFYEAR": "dayofyear({0})",
    "ISOWEEK": "weekofyear({0})",
    "HOUR": "hour({0})",
    "MINUTE": "minute({0})",
    "SECOND": "second({0})",
    "MILLISECOND": "(millisecond({0}) % 1000)",
    "MICROSECOND": "(microsecond({0}) % 1000000)",
}
_TIME_PARTS = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


def extract(ctx: Context, node: exp.Extract) -> Value:
    """EXTRACT(part FROM x [AT TIME ZONE z])."""
    source, zone = node.expression, None
    if isinstance(source, exp.AtTimeZone):
        zone = translate_as(ctx, source.args["zone"], STRING, "Time zone")
        source = source.this
    value = translate(ctx, source)
    if value.type.name not in _PARTS:
        raise no_signature(ctx, "EXTRACT", [value], node)
    sql = value.sql
    if value.type == TIMESTAMP:
        sql = f"timezone({zone}, {sql})" if zone else f"CAST({sql} AS TIMESTAMP)"
    elif zone:
        raise ctx.error(f"EXTRACT from {value.type} does not support AT TIME ZONE", node)
    name = node.this.name.upper()
    if name in ("DATE", "TIME", "DATETIME") and value.type in (DATETIME, TIMESTAMP):
        target = Type(name)
        return Value(f"CAST({sql} AS {target.duckdb})", target)
    allowed = {
        "DATE": set(_EXTRACTS) - set(_TIME_PARTS),
        "TIME": set(_TIME_PARTS),
    }.get(value.type.name, set(_EXTRACTS))
    if name in allowed:
        return Value(f"CAST({_EXTRACTS[name].format(sql)} AS BIGINT)", INT64)
    part, first_day = part_of(ctx, node.this)
    if part == "WEEK" and name != "ISOWEEK" and value.type != TIME:
        # Week 1 begins with the year's first such day; the days before are week 0.
        week = f"((dayofyear({sql}) + 6 - (dayofweek({sql}) - {first_day} + 7) % 7) // 7)"
        return Value(f"CAST({week} AS BIGINT)", INT64)
    raise ctx.error(f"EXTRACT from {value.type} does not support the {name} date part", node)


def last_day(ctx: Context, node: exp.Anonymous) -> Value:
    """LAST_DAY of the month, or of another part."""
    value = _operand(ctx, node.expressions[0], DATE)
    if value.type not in (DATE, DATETIME):
        raise no_signature(ctx, "LAST_DAY", [value], node)
    part, first_day = "MONTH", 0
    if len(node.expressions) > 1:
        part, first_day = part_of(ctx, node.expressions[1])
    if part not in ("WEEK", "MONTH", "QUARTER", "YEAR"):
        raise ctx.error(f"LAST_DAY does not support the {part} date part", node)
    start = f"CAST({_truncated(f'CAST({value.sql} AS DATE)', part, first_day)} AS DATE)"
    step = _SHIFTS[part].format("CAST(1 AS BIGINT)")
    return Value(f"(CAST({start} + {step} AS DATE) - 1)", DATE)


def generate(ctx: Context, node: exp.Anonymous) -> Value:
    """GENERATE_DATE_ARRAY and GENERATE_TIMESTAMP_ARRAY."""
    kind = Type(node.name.upper().split("_")[1])
    if len(node.expressions) not in (2, 3):
        raise ctx.error(f"No matching signature for function {node.name.upper()}", node)
    first, last = (coerce(_operand(ctx, n, kind), kind) for n in node.expressions[:2])
    if first is None or last is None:
        raise ctx.error(f"No matching signature for function {node.name.upper()}", node)
    step = "to_days(1)"
    if len(node.expressions) > 2:
        interval = node.expressions[2]
        zero = exp.cast(exp.Literal.string("2000-01-01"), exp.DType.DATE)
        if kind == TIMESTAMP:
            zero = exp.cast(exp.Literal.string("2000-01-01"), exp.DType.TIMESTAMPTZ)
        shifted(ctx, zero, interval, False, node)  # checks the part
        amount = interval.this
        number = (
            f"CAST({int(amount.this)} AS BIGINT)"
            if isinstance(amount, exp.Literal)
            else translate_as(ctx, amount, INT64, "Interval value")
        )
        step = _SHIFTS[interval.args["unit"].name.upper()].format(f"bq_step({number})")
    elif kind == TIMESTAMP:
        raise ctx.error("GENERATE_TIMESTAMP_ARRAY needs an INTERVAL step", node)
    element = kind.duckdb
    return Value(
        f"CAST(generate_series({first}, {last}, {step}) AS {element}[])",
        Type("ARRAY", kind),
    )


def _current(kind: Type, convert: str) -> Callable[[Context], Value]:
    def value(ctx: Context) -> Value:
        now = literal(ctx.job.settings.now.isoformat())
        return Value(convert.format(f"CAST({now} AS TIMESTAMP WITH TIME ZONE)"), kind)

    return value


CURRENT = {
    "CURRENT_TIMESTAMP": _current(TIMESTAMP, "{0}"),
    "CURRENT_DATE": _current(DATE, "CAST({0} AS DATE)"),
    "CURRENT_DATETIME": _current(DATETIME, "CAST({0} AS TIMESTAMP)"),
    "CURRENT_TIME": _current(TIME, "CAST(CAST({0} AS TIMESTAMP) AS TIME)"),
}
"""CURRENT_DATE and the like, with and without parentheses."""
