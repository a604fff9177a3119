"""Parameters of column types: STRING(10), BYTES(4), NUMERIC(5, 2), and how NUMERIC is rounded.

They belong to a column and to no value: a query's results have none, and what is written to the
column has to fit. https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#parameterized_data_types
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from .duckdb_text import literal
from .errors import BigQueryError, invalid, not_emulated

AWAY = "ROUND_HALF_AWAY_FROM_ZERO"
_ROUNDING = {AWAY: ROUND_HALF_UP, "ROUND_HALF_EVEN": ROUND_HALF_EVEN}
_MOST_SCALE, _MOST_WHOLE = 9, 29
"""Digits of a NUMERIC after and before the point."""
DIGITS = 38
"""Digits of a NUMERIC."""


@dataclass(frozen=True)
class TypeParameters:
    """`length`: characters of a STRING, bytes of BYTES. `precision`, `scale`: of a NUMERIC.

    `rounding`: ROUND_HALF_AWAY_FROM_ZERO or ROUND_HALF_EVEN; None is the first.
    """

    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    rounding: str | None = None

    @classmethod
    def from_api(cls, resource: dict[str, Any], kind: str) -> TypeParameters | None:
        """Read those of a REST TableFieldSchema; None if it has none.

        Raises BigQueryError for parameters of another type, or out of their range.
        """
        length, precision, scale = (
            _number(resource, key) for key in ("maxLength", "precision", "scale")
        )
        rounding = resource.get("roundingMode") or None
        rounding = None if rounding == "ROUNDING_MODE_UNSPECIFIED" else rounding
        if scale is None and precision is None and length is None and rounding is None:
            return None
        return cls(length, precision, scale, rounding).checked(resource.get("name", ""), kind)

    def checked(self, name: str, kind: str) -> TypeParameters:
        """Return it; raises BigQueryError if the column `name` of type `kind` cannot have it."""
        if self.length is not None and kind not in ("STRING", "BYTES"):
            raise invalid(f"Field {name} of type {kind} cannot have maxLength.")
        if self.length is not None and self.length < 1:
            raise invalid(f"Field {name} has maxLength {self.length}, which must be positive.")
        numeric = (self.precision, self.scale, self.rounding) != (None, None, None)
        if numeric and kind != "NUMERIC":
            raise invalid(f"Field {name} of type {kind} cannot have precision, scale or rounding.")
        if self.rounding is not None and self.rounding not in _ROUNDING:
            raise invalid(f"Invalid value for roundingMode: {self.rounding} is not a valid value")
        if self.scale is not None and self.precision is None:
            raise invalid(f"Field {name} has scale {self.scale} but no precision.")
        if self.rounding is not None and self.precision is None:
            # A value that comes here has NUMERIC's nine decimals already.
            raise not_emulated(f"roundingMode of a NUMERIC without precision ({name})")
        if self.precision is not None:
            scale = self.scale or 0
            whole = self.precision - scale
            if not 0 <= scale <= _MOST_SCALE or not 0 <= whole <= _MOST_WHOLE or not self.precision:
                raise invalid(
                    f"Field {name} has precision {self.precision} and scale {scale} but precision "
                    "and scale for NUMERIC must be: 0 <= precision - scale <= 29 and 0 <= scale "
                    "<= 9"
                )
        return self

    @property
    def api(self) -> dict[str, str]:
        """Members of REST TableFieldSchema; numbers of 64 bits are texts there."""
        numbers = {"maxLength": self.length, "precision": self.precision, "scale": self.scale}
        found = {key: str(value) for key, value in numbers.items() if value}
        return found | ({"roundingMode": self.rounding} if self.rounding else {})

    def of(self, kind: str) -> str:
        """The type in DDL and INFORMATION_SCHEMA: `NUMERIC(5, 2)`."""
        numbers = (self.length,) if self.length else (self.precision, self.scale)
        listed = ", ".join(str(number) for number in numbers if number)
        return f"{kind}({listed})" if listed else kind

    def fitted(self, value: Any, name: str, kind: str) -> Any:
        """Return a value as the column stores it; raises BigQueryError if it does not fit.

        `value`: str, bytes or Decimal.
        """
        problem = None
        if self.length is not None:
            if len(value) > self.length:
                problem = self._too_long(kind) + str(len(value))
        elif self.precision is not None:
            step = Decimal((0, (1,), -(self.scale or 0)))
            with localcontext(prec=2 * DIGITS):
                value = value.quantize(step, _ROUNDING[self.rounding or AWAY])
            if abs(value) > self._most:
                problem = self._out_of_range(kind)
        if problem:
            raise BigQueryError("invalid", f"Field {name}: {problem}")
        return value

    def stored(self, value: str) -> str:
        """The DuckDB expression of a value as the column stores it, if it fits."""
        if self.precision is None:
            return value
        scale = self.scale or 0
        if self.rounding == "ROUND_HALF_EVEN":
            step = f"CAST({Decimal((0, (1,), -scale)):f} AS DECIMAL({DIGITS},{_MOST_SCALE}))"
            return f"bq_round_half_even({value}, {scale}, {step})"
        return f"bq_round_half_away({value}, {scale})"

    def problem(self, value: str, kind: str) -> str:
        """The DuckDB expression of what is wrong with a value; NULL if it fits, or is NULL."""
        if self.length is not None:
            size = f"{'octet_length' if kind == 'BYTES' else 'length'}({value})"
            message = f"{literal(self._too_long(kind))} || {size}"
            return f"CASE WHEN {size} > {self.length} THEN {message} END"
        most, message = self._most, literal(self._out_of_range(kind))
        return f"CASE WHEN abs({self.stored(value)}) > {most:f} THEN {message} END"

    @property
    def _most(self) -> Decimal:
        """The largest value of NUMERIC(precision, scale)."""
        return Decimal((0, (9,) * (self.precision or 0), -(self.scale or 0)))

    # The service's texts, as tests of its clients and of other projects have them:
    # java-bigquerystorage's ITBigQueryWriteManualClientTest, keboola/php-table-backend-utils.

    def _too_long(self, kind: str) -> str:
        size = self.length
        return f"{self.of(kind)} has maximum length {size} but got a value with length "

    def _out_of_range(self, kind: str) -> str:
        most = self._most
        return (
            f"{self.of(kind)} has precision {self.precision} and scale {self.scale or 0} "
            f"but got a value that is not in range of [-{most:f}, {most:f}]"
        )


def _number(resource: dict[str, Any], key: str) -> int | None:
    value = resource.get(key)
    try:
        return int(value) or None if value is not None else None
    except (TypeError, ValueError):
        raise invalid(f"Invalid value for {key}: {value} is not a valid value") from None
