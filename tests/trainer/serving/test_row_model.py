"""A model of rows behind the server: in this process, and as a whole server process."""

import json
import re
import signal
import subprocess
import sys
from http.client import HTTPConnection

import numpy as np
import pytest

from trainer.serving.model import Model, RowModel

KNOWN = {
    "size": 1e6,
    "class": 0.5,
    "smoker": True,
    "site": "rechts",
    "_ward": "w7",
    "taken": "2024-02-29T12:00:00Z",
    "pulse": [61.0, 58.5, None],
}


@pytest.fixture(scope="module")
def model(row_model_folder):
    loaded = Model.load(row_model_folder)
    assert isinstance(loaded, RowModel)
    return loaded


@pytest.fixture
def answers(model):
    """A function: instances -> one number for each, its value or the first probability."""

    def answers(*instances):
        rows = model.rows.read(json.dumps({"instances": instances}).encode())
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


def test_a_server_answers_rows_and_names_what_is_wrong(model, row_model_folder):
    if not model.classes:
        pytest.skip("once is enough")
    process = subprocess.Popen(
        [sys.executable, "-m", "trainer", "serve", "--model", row_model_folder, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(re.search(r":(\d+)/", process.stdout.readline())[1])
        assert "ready" in process.stdout.readline()
        connection = HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(*instances):
            connection.request("POST", "/predict", json.dumps({"instances": instances}))
            response = connection.getresponse()
            return response.status, json.load(response)

        status, document = ask(KNOWN, dict.fromkeys(KNOWN))
        assert status == 200
        first, second = document["predictions"]
        assert first != second
        assert set(first) == {"label", "probabilities"}
        status, document = ask(KNOWN, KNOWN | {"smoker": "yes"})
        assert status == 400
        (violation,) = document["error"]["details"][0]["fieldViolations"]
        assert violation["field"] == "instances[1].smoker"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
