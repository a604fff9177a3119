"""Interface of a form of labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import Problem
from trellis.workflow.spec.source import Source
from trellis_contracts.dataset_features import Feature, Label


@dataclass(frozen=True)
class Beside:
    """A further column of a label. key: of the file. name: in the source. types: BigQuery's, and
    why. column: in the frozen rows.
    """

    key: str
    name: str
    types: Sequence[str]
    why: str
    column: str


class LabelForm:
    """Labels that are names of classes, and what others have in place of these.

    key: of the file, that names the column. answer: column of a prediction with the model's answer.
    bad: SQL of whether a label is unusable, and words: what it is then. checks: template with what
    else checks.sql finds, of `rows`. is_named: whether the label is text, the names of classes.
    of_files: whether it is the address of a file. alone: whether one feature can tell it; together:
    whether a sum of numbers can. no_parts: why no part of a metric can be bounded where `parts` are
    empty. written_by: the stage that writes a batch prediction's answers as files
    (trellis.workflow.stages.prediction.files); "": they are columns.
    """

    key: ClassVar[str] = "source.label"
    answer: ClassVar[str] = "label"
    bad: ClassVar[str] = "IFNULL(label, '') = ''"
    words: ClassVar[str] = "NULL or empty"
    checks: ClassVar[str | None] = None
    is_named: ClassVar[bool] = True
    of_files: ClassVar[bool] = False
    alone: ClassVar[bool] = True
    together: ClassVar[bool] = False
    no_parts: ClassVar[str] = ""
    written_by: ClassVar[str] = ""

    def problems(self, experiment: Experiment, learned: bool) -> Iterator[Problem]:
        """List what the file lacks, or has too much. learned: whether the task's label is one."""
        yield from ()

    def beside(self, source: Source) -> Sequence[Beside]:
        """The label's further columns."""
        return ()

    def in_columns(self, source: Source) -> Mapping[str, Any]:
        """What trellis_contracts.columns.Columns has of it beside the name."""
        return {}

    def identity(self, source: Source) -> Mapping[str, Any]:
        """What the file says of it that decides which dataset is made."""
        return {}

    def parts(self, source: Source) -> Sequence[str]:
        """The parts over which metrics are averaged, by name."""
        return ()

    def decoded(self, features: Sequence[Feature]) -> Label:
        """A label as a training reads it, of which the size counts."""
        return Label(dtype="int64")

    def judge(self, row: Mapping[str, Any], source: Source) -> list[str]:
        """Problems of the rows' labels. row: the result of checks.sql, of rows that there are."""
        return []
