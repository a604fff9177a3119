"""What a prediction answers against what its model answered on the test split."""

import numpy as np
import pytest
from google.cloud import bigquery

from tests.trellis.workflow.stages.prediction.conftest import LEARNED
from tests.wording import says
from trellis.workflow.stages.prediction import answers
from trellis.workflow.validation.file import with_changes
from trellis_contracts.withheld import shown, withheld

QUERY = (
    "SELECT n AS sample, 1.0 AS x, 'early' AS stage, CURRENT_TIMESTAMP() AS `taken at` "
    "FROM UNNEST(GENERATE_ARRAY(1, 40)) AS n"
)
"""All rows are true."""


@pytest.fixture(scope="module")
def made(predictions):
    """A model that answered 300 times true and 300 times false on its test split."""
    made = predictions("answering", query=QUERY)
    made.experiment = with_changes(made.experiment, {("abstain",): 0.1})
    made.promote("champion", table=LEARNED, answered={"true": 300, "false": 300})
    return made


@pytest.fixture
def compared(made):
    """Texts of the findings, or the remark, for answers to so many rows of each class."""
    experiment = made.experiment
    label, limits = experiment.source.label, experiment.prediction.changes
    run = f"gs://{made.bucket}/answering/runs/r/"

    def compared(now, run=run):
        found, remark = answers.compare(run, made.platform, now, label, limits)
        return remark or [finding.text for finding in found]

    return compared


def test_answers_like_those_of_the_test_split_are_no_finding(compared):
    assert compared({"true": 55, "false": 45}) == []


def test_another_share_of_a_class_is_one(compared):
    (text,) = compared({"true": 90, "false": 10})
    assert says(shown(text), "the prediction", "class true", "50.0%", "90.0%", "10 points")
    assert "true" not in withheld(text)


def test_a_class_that_is_no_longer_answered_is_one(compared):
    (text,) = compared({"true": 100})
    assert "and is 100.0%" in text


def test_few_answers_are_not_compared(compared):
    assert compared({"true": 29}) == "29 answers are too few, of 30 and more"


def test_numbers_are_no_classes(compared):
    assert "otherwise" in compared(answers.statistics_of(np.arange(100.0)))


def test_files_that_are_gone_are_said(compared, made):
    assert "was deleted" in compared({"true": 90}, run=f"gs://{made.bucket}/none/runs/r/")


def test_statistics_of_numbers_have_the_quantiles_of_the_export():
    found = answers.statistics_of(np.arange(101.0))
    assert (found.count, found.mean, found.min, found.max) == (101, 50.0, 0.0, 100.0)
    assert found.quantiles == tuple(np.arange(0, 101, 5.0))


def test_a_whole_prediction_tells_people(made, states, monkeypatch):
    from trellis.workflow.assembly import prediction

    told = []
    monkeypatch.setattr(prediction, "tell", lambda platform, context, text: told.append(text))
    assert states(made.run())["result"] == "success"
    (finding,) = made.record["findings"]
    assert finding["text"].startswith("the prediction: the share of class")
    # The run that trained the model asked for `abstain`.
    columns = bigquery.Client(project="local-gcp").get_table(made.record["output"]).schema
    assert [one.name for one in columns] == ["key", "label", "abstained", "prediction", "error"]
    (text,) = told
    assert says(text, "TRELLIS WARNING: answering-predict", "50.0%", "100.0%")
