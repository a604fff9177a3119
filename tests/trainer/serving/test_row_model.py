"""A model of rows, alone and behind the server."""

import json

import numpy as np
import pytest

from tests.trainer.serving.served import served
from trainer import dataset_description
from trainer.comparison.raw_examples import time_text
from trainer.serving.model import Model
from trainer.serving.parameters import Explain

KNOWN = {
    "size": 1e6,
    "class": 0.5,
    "smoker": True,
    "site": "rechts",
    "_ward": "w7",
    "taken": "2024-02-29T12:00:00Z",
    "pulse": [61.0, 58.5, None],
    "note": "kein Befund",
}


@pytest.fixture(scope="module")
def model(row_model_folder):
    return Model.load(row_model_folder)


@pytest.fixture
def answers(model):
    """A function: instances -> one number for each, its value or the first probability."""

    def answers(*instances):
        rows = model.rows.read(json.dumps({"instances": instances}).encode()).instances
        predictions = model.predict(rows)
        assert len(predictions) == len(instances)
        return [p.get("value") or float(p["probabilities"]["0"]) for p in predictions]

    return answers


def test_every_field_counts(answers):
    others = {
        "size": 1e6 + 9,
        "class": 40,
        "smoker": False,
        "site": "links",
        "_ward": "unheard of",
        "taken": "2024-03-02",
        "pulse": [58.5, 61.0],
        "note": "Befund: kein",
    }
    all_alike, *changed = answers(KNOWN, *({**KNOWN, name: v} for name, v in others.items()))
    assert np.abs(np.array(changed) - all_alike).min() > 1e-4


def test_null_is_neither_empty_nor_unknown(answers):
    terms = [{**KNOWN, "site": term} for term in (None, "", "unheard of")]
    assert len({round(answer, 6) for answer in answers(*terms)}) == 3


def test_an_answer_does_not_depend_on_its_company(answers):
    nothing = dict.fromkeys(KNOWN)
    long = {**KNOWN, "pulse": [60.0] * 500}
    alone = [answers(row)[0] for row in (KNOWN, nothing, long)]
    np.testing.assert_allclose(answers(KNOWN, nothing, long), alone, rtol=1e-5)


def test_it_warms_up_on_a_row_of_which_nothing_is_known(model):
    model.warm_up(4)


def explained(model, instance, index=None, **how):
    """The explanation of an instance, for the predicted class or another, and its baseline row."""
    row = model.rows.read(json.dumps({"instances": [instance]}).encode()).instances[0]
    (prediction,) = model.predict([row])
    if model.classes and index is None:
        index = model.classes.index(prediction["label"])
    return model.explainer.explain(row, index, Explain(**how))


@pytest.mark.parametrize("instance", [KNOWN, dict.fromkeys(KNOWN), {**KNOWN, "pulse": []}])
def test_attributions_add_up_to_what_the_score_moved(model, answers, instance):
    found = explained(model, instance, index=0 if model.classes else None)
    assert found["score"] == pytest.approx(answers(instance)[0], abs=1e-6)
    moved = found["score"] - found["baseline_score"]
    assert abs(moved) > 1e-4
    assert sum(found["attributions"].values()) == pytest.approx(moved, abs=1e-6)
    assert list(found["attributions"]) == list(KNOWN), "each column once, whatever its kind"
    assert found["approximation_error"] >= 0


def test_what_is_explained_is_the_row_against_the_train_splits_ordinary_one(
    model, answers, row_model_folder
):
    statistics = {
        feature.column: feature
        for feature in dataset_description.load(str(row_model_folder.parent / "d")).features
    }
    of = statistics.__getitem__
    pulse = of("pulse").statistics
    ordinary = {
        "size": of("size").statistics.mean,
        "class": of("class").statistics.mean,
        "smoker": of("smoker").statistics.mean > 0.5,
        "site": of("site").vocabulary[0],
        "_ward": of("_ward").vocabulary[0],
        "taken": time_text(round(of("taken").statistics.mean * 1e6)),
        "pulse": [pulse.mean] * round(pulse.mean_length),
        "note": None,
    }
    found = explained(model, KNOWN, index=0 if model.classes else None)
    assert found["baseline_score"] == pytest.approx(answers(ordinary)[0], abs=1e-6)
    nothing = explained(model, ordinary)
    assert nothing["attributions"] == pytest.approx(dict.fromkeys(KNOWN, 0), abs=1e-6)
    # With one field of its own, all that moves the score is that field's doing.
    for name in KNOWN:
        found = explained(model, {**ordinary, name: KNOWN[name]}, 0 if model.classes else None)
        others = [share for other, share in found["attributions"].items() if other != name]
        assert others == pytest.approx([0] * 7, abs=1e-6)
        moved = found["score"] - found["baseline_score"]
        assert found["attributions"][name] == pytest.approx(moved, abs=1e-6)


def test_another_class_is_explained_by_its_own_probability(model):
    if not model.classes:
        pytest.skip("a regression has no classes")
    first, second = (explained(model, KNOWN, index)["attributions"] for index in (0, 1))
    # Of two classes, what is for the one is against the other.
    assert list(first.values()) == pytest.approx([-share for share in second.values()], abs=1e-6)


def test_a_server_answers_rows_and_names_what_is_wrong(model, row_model_folder):
    if not model.classes:
        pytest.skip("once is enough")
    with served(row_model_folder) as ask:
        status, document = ask(KNOWN, dict.fromkeys(KNOWN))
        assert status == 200
        first, second = document["predictions"]
        assert first != second
        assert set(first) == {"label", "probabilities"}
        status, document = ask(KNOWN, KNOWN | {"smoker": "yes"})
        assert status == 400
        (violation,) = document["error"]["details"][0]["fieldViolations"]
        assert violation["field"] == "instances[1].smoker"
        status, document = ask(KNOWN, dict.fromkeys(KNOWN), explain={"paths": 50.0, "class": "1"})
        assert status == 200
        for prediction, unexplained in zip(document["predictions"], (first, second), strict=True):
            found = prediction.pop("explanation")
            assert prediction == unexplained
            assert found["class"] == "1"
            assert found["score"] == pytest.approx(prediction["probabilities"]["1"], abs=1e-6)
            moved = found["score"] - found["baseline_score"]
            assert sum(found["attributions"].values()) == pytest.approx(moved, abs=1e-6)
        status, document = ask(KNOWN, explain={"class": "2"})
        assert status == 400
        (violation,) = document["error"]["details"][0]["fieldViolations"]
        assert violation["field"] == "parameters.explain.class"
        assert '"0", "1"' in violation["description"]
