"""The number of a dataset's files: a number, or by their bytes."""

import pytest

from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts import table
from trellis.workflow.contracts.layout import Run
from trellis.workflow.contracts.table import Column
from trellis.workflow.lookups import bigquery_source
from trellis.workflow.spec.sharding import flag, least
from trellis.workflow.stages import export
from trellis.workflow.stages.training_checks import Counts, judge
from trellis.workflow.validation.file import with_changes


@pytest.fixture
def asking(digits):
    """The experiment with `shards` and a number of workers: asking("auto", 2)."""

    def asking(shards, workers=1):
        changes = {("source", "shards"): shards, ("train", "machines", "workers"): workers}
        return with_changes(digits, changes)

    return asking


def test_auto_is_at_least_eight_files_and_one_for_each_worker(asking, group):
    assert (flag(asking(4)), least(asking(4))) == ("4", 4)
    assert (flag(asking("auto", 2)), flag(asking("auto", 12))) == ("8+", "12+")
    body = export.body(a_plan(asking("auto", 12), Run("bucket", "digits", "r")), group)
    assert body["launchParameter"]["parameters"]["shards"] == "12+"


def test_datasets_by_bytes_have_names_of_their_own(asking):
    """Up to eight workers share a dataset; a number names what it always did."""
    names = ("key", "image", "label", "ml_use", "rejected")
    columns = [Column(name, "STRING") for name in names]

    def name(experiment):
        described = table.resolve(experiment, "a manifest", columns)
        return bigquery_source.fingerprint(experiment, "gs://b/m.csv", described, None, [])

    assert len({name(asking(n)) for n in (8, 12, "auto")}) == 3
    assert name(asking("auto", 2)) == name(asking("auto", 8)) != name(asking("auto", 12))


def test_auto_is_never_more_files_than_examples(asking):
    splits = {name: Counts(40, {"a": 20, "b": 20}) for name in ("train", "validation", "test")}
    few = splits | {"train": Counts(5, {"a": 3, "b": 2})}
    assert any("cannot be filled" in problem for problem in judge(asking(6), few))
    assert not any("cannot be filled" in problem for problem in judge(asking("auto"), few))
