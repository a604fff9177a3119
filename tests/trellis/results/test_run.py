"""A run's files as frames, read from a real Cloud Storage."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trellis
from tests.contracts.datasets import IMAGE, dataset, numeric
from tests.trellis.results.a_run import (
    KEYS,
    SHARES,
    TABLE,
    predictions,
)
from tests.trellis.results.made import a_plan_of
from trellis.results.selection import NoRunError
from trellis_contracts import charts
from trellis_contracts.charts import DECISION_CURVE, TREAT_ALL, layer


def test_predictions_have_class_names_and_their_rows(run, client):
    loaded = trellis.load_run(run, client)
    found = loaded.predictions().join(loaded.rows())
    assert list(found.columns) == [
        "label",
        "predicted",
        "p.healthy",
        "p.ill",
        "age at visit",
        "site",
    ]
    assert list(found.index) == KEYS
    assert list(found["predicted"]) == ["healthy", "ill", "healthy", "ill", "healthy", "ill"]
    assert list(found["label"]) == ["healthy", "ill", "ill", "ill", "healthy", "ill"]
    np.testing.assert_allclose(found["p.ill"], SHARES[:, 1], rtol=1e-6)
    assert (found.loc["k5", "age at visit"], found.loc["k5", "site"]) == (86.0, "b")
    assert list(loaded.rows("train").index) == ["other"]


def test_predictions_are_those_of_the_threshold(run, client, put):
    for name, other in (("ill", "healthy"), ("healthy", "ill")):
        told = {"class": name, "above": 0.35}
        put("digits/runs/r/training/1/predictions.parquet", predictions(threshold=told))
        found = trellis.load_run(run, client).predictions()
        assert list(found["predicted"]) == [
            name if share > 0.35 else other for share in found[f"p.{name}"]
        ]
        assert found.attrs["threshold"] == told


def test_predictions_of_several_classes_are_tuples_of_their_names(run, client, put):
    sink = io.BytesIO()
    columns = {
        "key": pa.array(KEYS),
        "label": pa.array([0, 1, 2, 3, 0, 2], pa.int64()),
        "probabilities": pa.array(SHARES.tolist(), pa.list_(pa.float32())),
    }
    told = {"classes": json.dumps(["mass", "nodule"]), "task": "multilabel_classification"}
    pq.write_table(pa.table(columns, metadata={"schema": "1", **told}), sink)
    put("digits/runs/r/training/1/predictions.parquet", sink.getvalue())
    found = trellis.load_run(run, client).predictions("training/1")
    assert list(found["label"])[:4] == [(), ("mass",), ("nodule",), ("mass", "nodule")]
    assert list(found["predicted"])[3:] == [("nodule",), (), ("nodule",)]
    assert found["p.nodule"].iloc[1] == pytest.approx(0.8)


def test_predictions_of_a_regression_have_their_errors(run, client, put):
    label, value = (pa.array(np.arange(6.0) + by) for by in (0, 0.5))
    put("digits/runs/r/served/predictions.parquet", predictions(None, label=label, value=value))
    found = trellis.load_run(run, client).predictions("served")
    assert list(found["error"]) == [0.5] * 6


def test_trials_and_curves(run, client):
    loaded = trellis.load_run(run, client)
    trials = loaded.trials()
    assert trials.loc["2", ["rank", "value", "parameters.units"]].tolist() == [1, 0.9, 16]
    assert pd.isna(trials.loc["1", "rank"])
    assert (trials["end"] - trials["start"]).dt.total_seconds().tolist() == [60, 60]
    curves = loaded.curves()
    assert list(curves["name"]) == ["training/1"] * 3
    assert list(curves["val_loss"]) == pytest.approx([1.1, 0.55, 1.1 / 3])


def test_a_run_without_a_search_has_no_trials(run, client, put, digits, bucket):
    plan = a_plan_of(digits, "r", bucket)
    del plan["configuration"]["tune"]
    put("digits/runs/r/plan.json", plan)
    with pytest.raises(NoRunError, match="the experiment is without `tune`"):
        trellis.load_run(run, client).trials()


def test_the_decision_curve_has_every_contender_and_all(run, client, put):
    with pytest.raises(NoRunError, match="no training has a `decision`"):
        trellis.load_run(run, client).decision_curve()
    x, y = charts.number("x"), charts.number("y")
    benefits = {"training/1": (0.3, 0.2), "baselines/bqml": (0.3, 0.1)}
    rows = [
        {"curve": name, "x": at, "y": benefit}
        for name, both in benefits.items()
        for at, benefit in zip((0.1, 0.2), both, strict=True)
    ]
    every = layer("line", {"x": x, "y": y}, [{"x": 0.1, "y": 0.29}, {"x": 0.2, "y": 0.0}])
    layers = [{"name": TREAT_ALL, **every}, layer("line", {"x": x, "y": y})]
    curve = charts.chart(layers, "net benefit", width=300, height=200, rows=rows)
    figures = {"schema": 1, "figures": {DECISION_CURVE: curve}}
    put("digits/runs/r/leaderboard/figures.json", figures)
    found = trellis.load_run(run, client).decision_curve()
    assert found.index.name == "threshold"
    assert found.loc[0.1].to_dict() == {
        "baselines/bqml": 0.3,
        "training/1": 0.3,
        TREAT_ALL: 0.29,
    }
    assert found.loc[0.2].to_dict() == {"baselines/bqml": 0.1, "training/1": 0.2, TREAT_ALL: 0.0}


def test_rows_have_their_weights(run, client, put):
    age = numeric("age at visit", [30, 50]) | {"column": "age_at_visit"}
    weight = {"name": "weight", "column": "sampled", "classes": {"ill": 2.5}}
    weight["statistics"] = numeric("w", [1, 2])["statistics"]
    put("digits/datasets/3f2a/dataset.json", dataset(age) | {"weight": weight})
    table = pd.DataFrame({"key": KEYS, "split": "test", "label": "ill", "age_at_visit": 1.0})
    sink = io.BytesIO()
    table.assign(example_weight=np.arange(6) / 2).to_parquet(sink)
    put("digits/datasets/3f2a/source/rows-000000000000.parquet", sink.getvalue())
    put("digits/datasets/3f2a/source/rows-000000000001.parquet", sink.getvalue())
    found = trellis.load_run(run, client).rows()
    assert found.columns.tolist() == ["age at visit", "sampled"]
    assert set(found.sampled) == set(np.arange(6) / 2)


def test_rows_have_the_columns_that_the_file_keeps(run, client, put, digits, bucket):
    plan = a_plan_of(digits, "r", bucket)
    plan["table"] = TABLE | {"kept": [{"name": "Geschlecht (m/w)", "column": "Geschlecht_m_w"}]}
    put("digits/runs/r/plan.json", plan)
    age = numeric("age at visit", [30, 50]) | {"column": "age_at_visit"}
    put("digits/datasets/3f2a/dataset.json", dataset(age))
    table = pd.DataFrame({"key": KEYS, "split": "test", "label": "ill", "age_at_visit": 1.0})
    for part in range(2):
        sink = io.BytesIO()
        table.assign(Geschlecht_m_w=list("mwmwmw")).to_parquet(sink)
        put(f"digits/datasets/3f2a/source/rows-00000000000{part}.parquet", sink.getvalue())
    found = trellis.load_run(run, client).rows()
    assert found.columns.tolist() == ["age at visit", "Geschlecht (m/w)"]
    assert set(found["Geschlecht (m/w)"]) == {"m", "w"}


def test_images_have_their_addresses(run, client, put, digits, bucket):
    put("digits/runs/r/plan.json", a_plan_of(digits, "r", bucket))
    put("digits/datasets/3f2a/dataset.json", dataset(IMAGE))
    frozen = pd.DataFrame({"key": KEYS, "split": "test", "label": "a"})
    frozen["rejected"] = pd.array([None] * len(KEYS), dtype="string")
    frozen["image"] = [f"gs://images/{key}" for key in KEYS]
    unusable = frozen.tail(1).assign(key="k9", image="gs://images/k9")
    unusable["rejected"] = pd.array(["no label"], dtype="string")
    for number, part in enumerate([frozen, unusable]):
        sink = io.BytesIO()
        part.to_parquet(sink)
        put(f"digits/datasets/3f2a/source/rows-00000000000{number}.parquet", sink.getvalue())
    loaded = trellis.load_run(run, client)
    assert loaded.rows()["image"].to_dict() == {key: f"gs://images/{key}" for key in KEYS}
    assert loaded.predictions().join(loaded.rows()).loc["k3", "image"] == "gs://images/k3"


def test_a_run_says_what_it_is(run, client, bucket):
    told = repr(trellis.load_run(run, client))
    for part in (run, "convolutional", "multiclass_classification", "training/1", "accuracy 0.9"):
        assert part in told
    client.bucket(bucket).blob("digits/runs/r/leaderboard/leaderboard.json").delete()
    assert "has not ended" in repr(trellis.load_run(run, client))


def test_a_model_is_copied_whole(run, client, tmp_path):
    folder = trellis.load_run(run, client).download(folder=tmp_path / "model")
    assert (folder / "saved_model.pb").read_text() == "a model"
    assert (folder / "variables/variables.index").read_text() == "its weights"
    with pytest.raises(NoRunError, match="only full trainings leave one"):
        trellis.load_run(run, client).download("baselines/bqml-logistic_reg")


def test_what_is_no_run_is_refused(client, bucket):
    for uri in ("gs://bucket/digits", "runs/r"):
        with pytest.raises(NoRunError, match="is no folder of a run"):
            trellis.load_run(uri, client)
    with pytest.raises(NoRunError, match=r"it has no plan\.json"):
        trellis.load_run(f"gs://{bucket}/digits/runs/none/", client)


def test_what_a_run_does_not_have_is_named(run, client):
    with pytest.raises(NoRunError, match=r"'training/2'.*training/1"):
        trellis.load_run(run, client).predictions("training/2")
