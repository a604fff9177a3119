"""BigQuery ML models in the registry of Vertex AI, and at an endpoint, through Google's clients."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from google.api_core import exceptions

from local_gcp.bigquery.errors import BigQueryError
from local_gcp.bigquery.ml import functions, models, options, training
from local_gcp.bigquery.refs import ModelRef
from local_gcp.vertex.endpoints.servers import bqml

ROWS = pa.table(
    {
        "size": np.arange(60) % 10,
        "wide": np.arange(60) / 7.0,
        "label": ["large" if n % 10 > 4 else "small" for n in range(60)],
    }
)


def learned(tmp_path, model_type, rows):
    checked = options.check({"model_type": model_type, "data_split_method": "NO_SPLIT"})
    model = training.train(rows, checked, lambda iteration: None)
    file = tmp_path / f"{model_type}.pickle"
    file.write_bytes(pickle.dumps(model))
    return model, file


def register(vertex, file, location="us-central1", model_id="sizes"):
    """Register a model as BigQuery does; the name of its version."""
    number = vertex.service.registry.register(location, model_id, "sizes_of_today", file)
    return f"{vertex.parent}/models/{model_id}@{number}"


def test_it_answers_as_ml_predict_does(vertex, tmp_path, deploy, predict):
    model, file = learned(tmp_path, "logistic_reg", ROWS)
    name = register(vertex, file)
    found = vertex.models.get_model(name=name)
    assert (found.model_source_info.source_type.name, found.artifact_uri) == ("BQML", "")
    kinds = [kind.name for kind in found.supported_deployment_resources_types]
    assert kinds == ["DEDICATED_RESOURCES"]
    deploy(name, {"0": 100})
    instances = [{"size": "3", "wide": 0.5}, {"size": 9.0, "wide": None}]
    given = pa.table({"size": [3, 9], "wide": pa.array([0.5, None], pa.float64())})
    expected = functions.call("ML.PREDICT", model, given, {}).to_pylist()
    for answer, row in zip(predict(*instances), expected, strict=True):
        shares = dict(zip(answer["label_values"], answer["label_probs"], strict=True))
        pairs = {pair["label"]: pair["prob"] for pair in row["predicted_label_probs"]}
        assert shares == pytest.approx(pairs)
        assert answer["predicted_label"] == [row["predicted_label"]]
    with pytest.raises(exceptions.InvalidArgument, match="no column wide"):
        predict({"size": 3})


def test_a_regression_has_its_value_alone(tmp_path):
    rows = ROWS.set_column(2, "label", ROWS["wide"])
    model, _ = learned(tmp_path, "linear_reg", rows)
    (answer,) = bqml.predict(model, {"instances": [{"size": 3, "wide": 2.0}]})
    assert list(answer) == ["predicted_label"]
    assert answer["predicted_label"] == [pytest.approx(2.0, abs=0.1)]


def test_it_is_a_version_beside_others(vertex, tmp_path, upload):
    _, file = learned(tmp_path, "logistic_reg", ROWS)
    first = register(vertex, file, location="US")
    assert register(vertex, file) == f"{first[:-1]}2"
    with pytest.raises(exceptions.FailedPrecondition, match="delete it in BigQuery"):
        vertex.models.delete_model_version(name=f"{first[:-1]}2")


def test_a_model_is_registered_once(tmp_path):
    registered = []

    def registry(location, model_id, title, file):
        registered.append((location, model_id, title, file.name))
        return "3"

    store = models.Models(tmp_path / "models")
    run: dict = {}
    record = models.ModelRecord("a.pickle", {"location": "EU", "trainingRuns": [run]})
    ref = ModelRef("project", "lab", "m")
    with pytest.raises(BigQueryError, match="without Vertex AI"):
        store.register(ref, record, "sizes")
    store.registry = registry
    store.register(ref, record, "sizes")
    store.register(ref, record, "sizes")
    assert registered == [("EU", "sizes", "m", "a.pickle")]
    assert run == {"vertexAiModelId": "sizes", "vertexAiModelVersion": "3"}
    with pytest.raises(BigQueryError, match="registered as the model sizes"):
        store.register(ref, record, "others")
