"""Limits of a group's and its owners' spending in a month."""

import pytest

from tests.trellis.results.made import a_board, a_run, with_cost
from trellis.workflow.contracts.layout import Run
from trellis.workflow.lookups import records
from trellis.workflow.pricing.cost import BudgetError
from trellis.workflow.spec.platform import Limits
from trellis.workflow.spec.section_validation import validate_section
from trellis.workflow.stages.limits import within_month

MAY = "2026-05"


def limits(**values):
    found, problems = validate_section(Limits, values)
    assert not problems
    return found


@pytest.fixture
def runs(digits):
    """One that has cost 0.5 USD, one that goes on (1.92 USD at most), and another owner's."""
    ended = with_cost(a_run(digits, "a", a_board()), {"tune": 0.25, "train": 0.25})
    other = a_run(digits, "c").model_copy(update={"owner": "ada"})
    return [ended, a_run(digits, "b"), other]


@pytest.mark.parametrize(
    ("bounds", "refused"),
    [
        ({}, None),
        ({"group": "5.35 USD"}, None),
        ({"group": "5.33 USD"}, "3 runs of the group in 2026-05 come to 4.34 USD .* .1 by their"),
        ({"owners": {"trellis": "3.43 USD", "ada": "1 USD"}}, None),
        (
            {"owners": {"trellis": "3.41 USD"}},
            r"may cost 1.00 USD at most, and 2 runs of trellis .* 2.42 USD .* more than 3.41 USD a "
            r"month \(platform.yaml: limits.owners.trellis\)",
        ),
    ],
)
def test_runs_that_have_ended_count_with_their_cost_and_others_with_their_bound(
    runs, bounds, refused
):
    if refused is None:
        within_month(limits(**bounds), "trellis", MAY, 1.0, runs)
        return
    with pytest.raises(BudgetError, match=refused):
        within_month(limits(**bounds), "trellis", MAY, 1.0, runs)


def test_the_months_runs_are_those_planned_in_it(google, digits, breast_cancer, group):
    (google.buckets / "limits-tests").mkdir()
    platform = group.model_copy(update={"bucket": "limits-tests"})
    for experiment, folder, begun in (
        (digits, "now", "2026-05-31T23:59:59+00:00"),
        (digits, "mine", "2026-05-01T00:00:00+00:00"),
        (breast_cancer, "other", "2026-05-02T00:00:00+00:00"),
        (digits, "later", "2026-06-01T00:00:00+00:00"),
        (digits, "old", None),
    ):
        record = a_run(experiment, folder, bucket=platform.bucket, begun=begun)
        records.begin(platform, Run(platform.bucket, experiment.name, folder), record)
    mine = Run(platform.bucket, "digits", "mine")
    found = records.of_month(platform, MAY, without=mine)
    assert {record.folder for record in found} == {"now", "other"}
    assert [record.folder for record in records.of_month(platform, "2026-01", mine)] == ["old"]
