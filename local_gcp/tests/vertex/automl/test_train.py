"""The program of an AutoML job, run in this process."""

import json

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from local_gcp.vertex.automl import model, train
from local_gcp.vertex.automl.result import EVALUATED, Result

SETS = {"training": 80, "validation": 40, "test": 20}
INPUTS = {
    "target": "label",
    "prediction_type": "classification",
    "transformations": [],
    "objective": "minimize-log-loss",
    "objective_value": None,
    "budget": 60.0,
    "early_stopping": True,
    "weight": None,
    "export": None,
}


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch):
    """The cheap ones: what is tested here does not depend on the others."""
    cheap = [c for c in _first(train.candidates.tabular(), 8) if c.family == "linear"]
    monkeypatch.setattr(train.candidates, "tabular", lambda: iter(cheap))
    cheap_images = list(_first(train.candidates.images(), 1))
    monkeypatch.setattr(train.candidates, "images", lambda: iter(cheap_images))


def _first(candidates, count):
    return (candidate for _, candidate in zip(range(count), candidates, strict=False))


def table(rows, seed):
    dice = np.random.default_rng(seed)
    x = dice.normal(size=rows)
    label = np.where(x + 0.3 * dice.normal(size=rows) > 0, "yes", "no")
    return pa.table({"x": x, "noise": dice.normal(size=rows), "label": label,
                     "value": 3 * x + 0.5 * dice.normal(size=rows)})  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """run(tables=..., **inputs): (exit code, folder of the model)."""

    def train_(tables=None, left_out=("value",), **inputs):
        tables = {n: table(rows, seed) for seed, (n, rows) in enumerate(SETS.items())} | (
            tables or {}
        )
        for name, rows in tables.items():
            pq.write_table(rows, tmp_path / f"{name}.parquet")
        output = tmp_path / f"model-{len(list(tmp_path.glob('model-*')))}"
        config = {
            "task": "tabular",
            "inputs": {**INPUTS, **inputs},
            "data": {**{n: str(tmp_path / f"{n}.parquet") for n in tables}, "left_out": left_out},
            "output": str(output),
        }
        (tmp_path / "config.json").write_text(json.dumps(config))
        return train.main(tmp_path / "config.json"), output

    return train_


def test_a_classifier_is_evaluated_on_the_test_set(run):
    code, folder = run()
    assert code == 0
    result = Result.read(folder)
    assert result.description.startswith("A local emulation of AutoML, not Google's: the best of 3")
    assert result.converged
    assert result.metrics["auRoc"] > 0.9
    assert sum(map(sum, result.metrics["confusionMatrix"]["rows"])) == SETS["test"]
    assert result.attributions["x"] > 10 * result.attributions["noise"] >= 0
    assert sum(result.attributions.values()) == pytest.approx(1)
    evaluated = pq.read_table(folder / EVALUATED)
    assert evaluated.num_rows == SETS["test"]
    assert evaluated["predicted_label"][0].as_py()["classes"] == ["no", "yes"]


@pytest.mark.parametrize(
    ("growth", "expected"),
    [
        ({"a": 3.0, "b": 1.0, "noise": -0.5}, {"a": 0.75, "b": 0.25, "noise": 0.0}),
        ({"a": -1.0, "b": 0.0}, {"a": 0.0, "b": 0.0}),
    ],
)
def test_attributions_are_shares(growth, expected):
    assert train.shares(growth) == expected


def test_a_regression_gives_an_interval_that_holds_most_values(run):
    _, folder = run(
        target="value", prediction_type="regression", objective=None, left_out=["label"]
    )
    assert Result.read(folder).metrics["rSquared"] > 0.9
    rows = table(1000, 7)
    predictions, problems = model.load(folder).predict(rows)
    assert set(problems) == {None}
    inside = [
        p["lower_bound"] <= value <= p["upper_bound"]
        for p, value in zip(predictions, rows["value"].to_pylist(), strict=True)
    ]
    assert 0.85 < np.mean(inside) <= 1


def test_the_test_set_is_never_trained_on(run):
    """The model is the same, byte for byte, with any test set."""
    _, one = run()
    test = table(SETS["test"], 9)
    turned = pa.array(["yes" if label == "no" else "no" for label in test["label"].to_pylist()])
    upside_down = test.set_column(2, "label", turned)
    _, other = run({"test": pa.concat_tables([upside_down] * 5)})
    assert (one / model.FILE).read_bytes() == (other / model.FILE).read_bytes()
    assert Result.read(one).metrics != Result.read(other).metrics
    assert joblib.load(one / model.FILE).classes == ["no", "yes"]


def test_validation_rows_choose_and_belong_to_the_final_fit(run):
    _, one = run()
    _, other = run({"validation": table(SETS["validation"], 9)})
    assert (one / model.FILE).read_bytes() != (other / model.FILE).read_bytes()


def test_rows_of_weight_zero_and_incomplete_rows_are_left_out(run):
    good = table(80, 0)
    wrong = table(80, 0)
    turned = pa.array(["yes" if label == "no" else "no" for label in wrong["label"].to_pylist()])
    wrong = wrong.set_column(2, "label", turned)
    weighted = {
        name: rows.append_column("weight", pa.array([weight] * rows.num_rows, pa.float64()))
        for name, rows, weight in [("good", good, 1.0), ("wrong", wrong, 0.0)]
    }
    others = {
        name: table(SETS[name], seed).append_column("weight", pa.array([1.0] * SETS[name]))
        for seed, name in [(1, "validation"), (2, "test")]
    }
    training = pa.concat_tables(weighted.values())
    code, folder = run({"training": training, **others}, weight="weight")
    assert code == 0
    assert Result.read(folder).metrics["auRoc"] > 0.9


def test_a_second_run_finds_the_model_of_the_first(run, tmp_path, capsys):
    _, folder = run()
    config = json.loads((tmp_path / "config.json").read_text())
    before = (folder / model.FILE).stat().st_mtime_ns
    assert train.main(tmp_path / "config.json") == 0
    assert (folder / model.FILE).stat().st_mtime_ns == before
    assert "already" in capsys.readouterr().out
    assert config["output"] == str(folder)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"target": "y"}, "There is no target column 'y'; there are x, noise, label, value."),
        ({"weight": "x"}, "The weight column 'x' must have numbers from 0 to 10000."),
        ({"transformations": [{"column": "z"}]}, "There is no column 'z'"),
        ({"left_out": ["x", "noise", "value"]}, "There is no column to predict from."),
        ({"target": "label", "prediction_type": "regression"}, "No training row has a value"),
    ],
)
def test_data_that_cannot_be_trained_on(run, capsys, inputs, words):
    code, folder = run(**inputs)
    said = capsys.readouterr().out
    assert (code, folder.exists()) == (1, False), said
    assert said.startswith("error: ")
    assert words in said


def test_a_constant_target_is_refused(run, capsys):
    tables = {n: table(rows, 0).set_column(2, "label", pa.array(["yes"] * rows))
              for n, rows in SETS.items()}  # fmt: skip
    assert run(tables)[0] == 1
    assert "target column 'label'" in capsys.readouterr().out


def test_images(tmp_path):
    items = []
    for n in range(60):
        path = tmp_path / f"{n}.png"
        Image.new("RGB", (20, 10), (n * 4, 0, 255 - n * 4)).save(path)
        name = ("training", "validation", "test")[n % 3]
        items.append({"path": str(path), "label": "red" if n >= 30 else "blue", "set": name})
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")
    items.append({"path": str(broken), "label": "red", "set": "training"})
    config = {
        "task": "image",
        "inputs": {"budget": 60.0, "early_stopping": True, "nodes": 8},
        "data": {"items": items, "ids": {"red": "11", "blue": "22"}},
        "output": str(tmp_path / "model"),
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert train.main(tmp_path / "config.json") == 0
    matrix = Result.read(tmp_path / "model").metrics["confusionMatrix"]
    assert matrix["annotationSpecs"] == [
        {"id": "22", "displayName": "blue"},
        {"id": "11", "displayName": "red"},
    ]
    assert sum(map(sum, matrix["rows"])) == 20
    trained = model.load(tmp_path / "model")
    predictions, problems = trained.predict([tmp_path / "59.png", broken, None])
    assert predictions[0]["displayNames"] == ["red", "blue"]
    assert predictions[0]["ids"] == ["11", "22"]
    assert sum(predictions[0]["confidences"]) == pytest.approx(1)
    assert problems[0] is None
    assert all(problems[1:])
    assert trained.predict([tmp_path / "59.png"], 0.5)[0][0]["displayNames"] == ["red"]
