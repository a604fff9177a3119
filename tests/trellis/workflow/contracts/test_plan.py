"""A plan as plan.json, there and back."""

import pytest

from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts import plan
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.table import Column, Feature, Table
from trellis.workflow.spec.problems import FileError
from trellis_contracts.plan import PlanFile

RUN = Run("bucket", "digits", "r")
TABLE = Table(
    Column("sample", "INT64"),
    Column("y", "BOOL"),
    Column("day", "DATE"),
    (Feature("mean radius", "mean_radius", "FLOAT64", "numeric"),),
    False,
)


def test_a_plan_for_images_is_read_as_it_was_written(digits):
    written = a_plan(digits, RUN)
    file = PlanFile.parse(written.file().to_json(RUN.plan), RUN.plan)
    assert plan.from_file(file, RUN) == written


def test_a_plan_for_a_table_is_read_as_it_was_written(breast_cancer):
    run = Run("bucket", "breast-cancer", "r")
    written = a_plan(breast_cancer, run, TABLE)
    file = PlanFile.parse(written.file().to_json(run.plan), run.plan)
    assert plan.from_file(file, run) == written


def test_the_plan_keeps_the_experiments_description(digits):
    assert digits.about
    file = a_plan(digits, RUN).file()
    assert file.description == digits.about
    assert plan.from_file(file, RUN).experiment.about == digits.about


def test_a_configuration_that_this_version_does_not_understand_is_refused(digits):
    content = a_plan(digits, RUN).file().to_document()
    content["configuration"]["tune"]["trails"] = 6
    with pytest.raises(FileError, match=r"gs://bucket/.*/plan.json: 1 problem\n  tune.trails"):
        plan.from_file(PlanFile.from_document(content), RUN)
