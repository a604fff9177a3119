"""The key `split` of a source: which examples are learned from, chosen by, and scored on.

The keys that are present decide the rule. Without any of them, an example's key decides.
"""

from typing import Annotated, Any, ClassVar

from pydantic import model_validator

from trellis.workflow.spec.quantities import Date, Scalar
from trellis.workflow.spec.sections import OneOf, Section, Variant, broken, key


class _Shares(Variant):
    """Shares of train, validation and test, in percent; together 100."""

    train: int = key("examples to learn from", 80, unit="percent", ge=1, le=98)
    validation: int = key("examples that choose trial and epoch", 10, unit="percent", ge=1, le=98)
    test: int = key("examples that score the contenders", 10, unit="percent", ge=1, le=98)

    @model_validator(mode="after")
    def _together_100(self) -> "_Shares":
        total = self.train + self.validation + self.test
        if total != 100:
            raise broken(f"the shares add up to {total}; expected 100 percent")
        return self

    @property
    def shares(self) -> tuple[int, int, int]:
        """(train, validation, test), in percent."""
        return self.train, self.validation, self.test


class KeySplit(_Shares):
    """A split by the hash of each example's key."""

    opening = ()
    title = "splits by the key"
    decided_by: ClassVar[None] = None


class GroupSplit(_Shares):
    """A split by the hash of the example's group, such as a patient."""

    opening = ("by",)
    title = "splits by a group"

    by: str = key(
        "column of what several examples share, such as a patient: all of one value are in one "
        "split, by its hash, and intervals count groups; never a feature. Of a manifest: what the "
        "field after the label is",
        min_length=1,
    )

    @property
    def decided_by(self) -> str:
        """The column that decides."""
        return self.by


class TimeSplit(Variant):
    """A split by time: learn from the past, be scored on what came later."""

    opening = ("time",)
    title = "splits by time"

    time: str = key(
        "DATE, DATETIME or TIMESTAMP column (UTC): train is before both of the days named here; "
        "no feature, unless it is named as one. Of a manifest: what the field after the label is, "
        "a day or moment such as 2024-03-01",
        min_length=1,
    )
    validation: Date = key("first day of the validation split (UTC)")
    test: Date = key("first day of the test split (UTC)")

    @model_validator(mode="after")
    def _in_order(self) -> "TimeSplit":
        if self.validation >= self.test:
            raise broken(f"validation {self.validation} is not before test {self.test}")
        return self

    @property
    def decided_by(self) -> str:
        """The column that decides."""
        return self.time

    @property
    def rule(self) -> str:
        """The rule, for people."""
        return f"{self.time}: validation from {self.validation}, test from {self.test}"


class SplitNames(Section):
    """Names of the splits in a column of one's own."""

    train: list[Scalar] = key("its values for train", ["train"], min_length=1)
    validation: list[Scalar] = key("its values for validation", ["validation"], min_length=1)
    test: list[Scalar] = key("its values for test", ["test"], min_length=1)

    @model_validator(mode="after")
    def _differ(self) -> "SplitNames":
        found = [value for values in self.texts.values() for value in values]
        for n, value in enumerate(found):
            if value in found[:n]:
                raise broken(f"'{value}' stands twice; a value is of one split")
        return self

    @property
    def texts(self) -> dict[str, list[str]]:
        """Values by split, as BigQuery writes them as a STRING."""
        return {
            name: [str(v).lower() if isinstance(v, bool) else str(v) for v in values]
            for name, values in self
        }


class ColumnSplit(Variant):
    """A split by a column that names each row's split."""

    opening = ("column",)
    title = "splits by a column of one's own"

    column: str = key("column that names each row's split; never a feature", min_length=1)
    names: SplitNames = key(
        "the column's names of the splits; any other value is refused", SplitNames()
    )

    @property
    def decided_by(self) -> str:
        """The column that decides."""
        return self.column

    @property
    def rule(self) -> str:
        """The rule, for people."""
        return f"column {self.column}"


class StratifiedSplit(_Shares):
    """Shares of each value of a column, exactly; for small data."""

    opening = ("stratify",)
    title = "stratified splits"

    stratify: str = key(
        "column, such as the label, each value of which is divided by the shares, in the order of "
        "the keys' hashes; for small data: other rows may change a row's split. Of a manifest: "
        "label",
        min_length=1,
    )

    @property
    def decided_by(self) -> str:
        """The column that decides."""
        return self.stratify

    @property
    def rule(self) -> str:
        """The rule, for people."""
        shares = "/".join(map(str, self.shares))
        return f"{shares} percent of each {self.stratify}, by rank of FARM_FINGERPRINT(key)"


Split = Annotated[
    KeySplit | GroupSplit | TimeSplit | ColumnSplit | StratifiedSplit,
    OneOf(
        "shares in percent, also with `by: COLUMN` or `stratify: COLUMN`; `time: COLUMN`, or "
        "`column: COLUMN`",
        "no rule",
    ),
]


def recorded(split: Any) -> Any:
    """The rule as part of a dataset's identity: as it always was, where the key decides."""
    if isinstance(split, KeySplit):
        return list(split.shares)
    return split.model_dump(mode="json")
