"""The key `split` of a source: which examples are learned from, chosen by, and scored on.

The keys that are present decide the rule. Without any of them, an example's key decides.
"""

from typing import Annotated, Any, ClassVar

from pydantic import model_validator

from trellis.workflow.spec.sections import OneOf, Variant, broken, key


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
    """By the hash of each example's key."""

    opening = ()
    title = "splits by the key"
    column: ClassVar[None] = None


class GroupSplit(_Shares):
    """By the hash of a group that several examples share, such as a patient: it stays together."""

    opening = ("by",)
    title = "splits by a group"

    by: str = key(
        "column of what several examples share, such as a patient: all of one value are in one "
        "split, by its hash, and intervals count groups; never a feature",
        min_length=1,
    )

    @property
    def column(self) -> str:
        """The column that decides."""
        return self.by


Split = Annotated[
    KeySplit | GroupSplit,
    OneOf("shares in percent, with `by: COLUMN` if rows belong together", "no rule"),
]


def recorded(split: Any) -> Any:
    """The rule as part of a dataset's identity: as it always was, where the key decides."""
    if isinstance(split, KeySplit):
        return list(split.shares)
    return split.model_dump(mode="json")
