"""Folds of frozen rows: dealt by a real BigQuery, counted, priced, and refused where few."""

import collections

import pytest
from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow.plans import plan_run
from tests.trellis.workflow.stages.frozen import client
from trellis.workflow.assembly import chain
from trellis.workflow.spec.split import StratifiedSplit
from trellis.workflow.stages import bqml, check, folds, job_messages, snapshot, train, tune
from trellis.workflow.validation.file import with_changes
from trellis_contracts.folds import EVERYTHING, FIRST, Folds
from trellis_contracts.withheld import shown

__all__ = ["client"]

OFF = {
    ("source", "partition"): None,
    ("source", "bigquery"): None,
    ("source", "split"): None,
    ("baselines",): {"bqml": ["logistic_reg"]},
    ("deploy",): None,
    ("decision",): None,
    ("schedule",): "manual",
    ("until",): None,
}
QUERY = """
  SELECT CAST(n AS STRING) AS sample_id, IF(MOD(n, {rare}) = 0, 'ill', 'well') AS malignant,
    n / 7 AS x, CONCAT('p', CAST(DIV(n, {size}) AS STRING)) AS patient,
    IF(n < {rows} / 4, 'A', 'B') AS site
  FROM UNNEST(GENERATE_ARRAY(1, {rows})) AS n
"""


@pytest.fixture
def crossed(breast_cancer):
    """A function: the experiment with folds, on made rows."""

    def crossed(count=5, repeats=None, rows=203, rare=4, size=3, split=None, **train):
        query = QUERY.format(rows=rows, rare=rare, size=size)
        keys = {("train", "folds"): count, ("train", "repeats"): repeats}
        keys |= {("source", "query"): query, ("source", "split"): split}
        return with_changes(breast_cancer, OFF | keys)

    return crossed


@pytest.fixture
def frozen(client, group):
    """A function: an experiment -> its plan, the frozen rows, and what the checks find."""

    def frozen(experiment):
        planned = plan_run(experiment, group, "crossed")
        table = job_messages.snapshot(planned, group)
        client.delete_table(table, not_found_ok=True)
        for job in (snapshot.job(planned, group), check.job(planned, group)):
            statement = job["query"].pop("query")
            config = QueryJobConfig.from_api_repr(job)
            (row, *_) = client.query_and_wait(statement, job_config=config)
        rows = [dict(row.items()) for row in client.query_and_wait(f"SELECT * FROM `{table}`")]
        problems, warnings, _ = check.evaluate(row, planned, group)
        return planned, rows, list(map(shown, problems)), list(map(shown, warnings))

    return frozen


def folds_of(rows, column, by="label"):
    """Rows of each value in each fold."""
    counts = collections.Counter((row[by], row[column]) for row in rows)
    return {value: [counts[value, fold] for fold in range(1, 6)] for value in {r[by] for r in rows}}


def test_each_class_is_divided_evenly_and_anew_in_each_repeat(crossed, frozen, group):
    planned, rows, problems, _ = frozen(crossed(repeats=2))
    assert problems == []
    for column in ("fold_1", "fold_2"):
        found = folds_of(rows, column)
        assert all(max(counts) - min(counts) <= 1 for counts in found.values()), found
        sizes = list(map(sum, zip(*found.values(), strict=True)))
        assert max(sizes) - min(sizes) <= 1
    # By chance one of five rows is in the same fold twice.
    same = sum(row["fold_1"] == row["fold_2"] for row in rows)
    assert 0.1 < same / len(rows) < 0.35
    names = dict(enumerate(Folds(5).splits(FIRST), start=1))
    assert all(
        row["split"] == ("train", "validation", "test")[names[row["fold_1"]]] for row in rows
    )
    columns = check.columns_json(planned, group, len(rows))
    assert columns["split"]["folds"] == {"count": 5, "repeats": 2}


def test_groups_stay_together_and_those_with_a_class_are_dealt_evenly(crossed, frozen):
    _, rows, problems, _ = frozen(crossed(split={"by": "patient"}, rare=9))
    assert problems == []
    of_group = collections.defaultdict(set)
    for row in rows:
        of_group[row["split_by"]].add(row["fold_1"])
    assert all(len(found) == 1 for found in of_group.values())
    ill = {row["split_by"]: row["fold_1"] for row in rows if row["label"] == "ill"}
    counts = collections.Counter(ill.values())
    assert len(counts) == 5
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_column_is_divided_evenly_where_the_file_names_one(crossed, frozen):
    experiment = crossed(split={"stratify": "site"})
    assert isinstance(experiment.source.split, StratifiedSplit)
    _, rows, problems, _ = frozen(experiment)
    assert problems == []
    found = folds_of(rows, "fold_1", "split_by")
    assert set(found) == {"A", "B"}
    assert all(max(counts) - min(counts) <= 1 for counts in found.values())


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({"rows": 60, "rare": 20}, ("'ill'", "3 examples", "5 folds")),
        ({"rows": 12, "size": 4, "split": {"by": "patient"}}, ("4 groups", "5 folds")),
        ({"rows": 60, "rare": 20, "split": {"by": "patient"}}, ("'ill'", "3 groups", "5 folds")),
    ],
)
def test_too_few_of_a_class_or_of_groups_are_refused_with_their_number(
    crossed, frozen, changes, counts
):
    _, _, problems, _ = frozen(crossed(**changes))
    assert len(problems) == 1
    assert all(text in problems[0] for text in counts), problems


def test_jobs_and_cost_are_those_of_all_folds_and_the_model_to_deploy(crossed, group):
    one, five = with_changes(crossed(), {("train", "folds"): None}), crossed(repeats=2)
    before, after = chain.at_most(one, group).stages, chain.at_most(five, group).stages
    assert after["tune"] == pytest.approx(11 * before["tune"])
    assert after["train"] == pytest.approx(11 * before["train"])
    assert after["bqml-logistic_reg"] == pytest.approx(10 * before["bqml-logistic_reg"])
    assert after["folds"] == before["compare"]
    assert (five.searches, five.trainings) == (11, 11 * five.train.top)


def test_jobs_of_a_fold_read_its_dataset_and_write_to_its_folder(crossed, group):
    planned = plan_run(crossed(), group, "crossed")
    whole = planned.dataset.uri
    chosen = {"rank": 1, "trial": "3", "parameters": {}}
    for part, name in ((None, EVERYTHING), ("1-1", "1-1"), ("1-4", "1-4")):
        own = whole if name == FIRST else f"{whole}folds/{name}/"
        job = train.job(planned, group, chosen if part is None else {**chosen, "part": part})
        (pool,) = job["job_spec"]["worker_pool_specs"][:1]
        assert f"--dataset={own}" in pool["container_spec"]["args"]
        base = planned.run.uri if part is None else f"{planned.run.uri}folds/{part}/"
        target = job["job_spec"]["base_output_directory"]["output_uri_prefix"]
        assert target == f"{base}training/1/"
        search = tune.job(planned, group, (None, part))["trial_job_spec"]
        assert search["base_output_directory"]["output_uri_prefix"] == f"{base}tuning/"
    (pool,) = folds.job(planned, group)["job_spec"]["worker_pool_specs"]
    assert pool["container_spec"]["command"][-1] == "trainer.folds"
    assert "/export" in pool["container_spec"]["image_uri"]


def test_baselines_learn_and_predict_in_the_fold(crossed, frozen, client, group):
    planned, rows, _, _ = frozen(crossed())
    text = bqml.script(planned, group, "logistic_reg", "1-3")
    tested = {row["key"] for row in rows if row["fold_1"] == 3}
    from_part = text[text.index("(SELECT * EXCEPT") : text.index(")\nWHERE split IN") + 1]
    found = client.query_and_wait(f"SELECT key FROM {from_part} WHERE split = 'test'")
    assert {row["key"] for row in found} == tested
    assert f"{planned.run.uri}folds/1-3/baselines/bqml-logistic_reg/" in text
