"""BigQuery ML on extreme values of every type: an answer, or an error that names what is wrong."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_gcp.bigquery.errors import BigQueryError

from .conftest import train

ROWS = 24
NOT_RETRIED = {"invalidQuery", "invalid", "notImplemented", "resourcesExceeded"}
UTC = datetime.UTC
TYPES = {
    "INT64": (pa.int64(), [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "FLOAT64": (pa.float64(), [0.0, -0.0, 5e-324, 1.7e308, -1.7e308, np.nan, np.inf]),
    "NUMERIC": (
        pa.decimal128(38, 9),
        [decimal.Decimal(t) for t in ("0", "-1.5", "9" * 29 + "." + "9" * 9, "-" + "9" * 29)],
    ),
    "BOOL": (pa.bool_(), [True, False]),
    "STRING": (pa.string(), ["", "a", "NULL", "_null_filler", "\x00", "ü\n", "x" * 300]),
    "BYTES": (pa.binary(), [b"", b"\x00", b"\xff" * 20]),
    "DATE": (
        pa.date32(),
        [datetime.date.min, datetime.date.max, datetime.date(1969, 12, 31)],
    ),
    "DATETIME": (
        pa.timestamp("us"),
        [datetime.datetime.min, datetime.datetime.max, datetime.datetime(2024, 2, 29)],
    ),
    "TIME": (pa.time64("us"), [datetime.time.min, datetime.time.max]),
    "TIMESTAMP": (
        pa.timestamp("us", tz="UTC"),
        [
            datetime.datetime.min.replace(tzinfo=UTC),
            datetime.datetime.max.replace(tzinfo=UTC),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        ],
    ),
}
MODELS = {
    "LOGISTIC_REG": "BOOL",
    "LINEAR_REG": "FLOAT64",
    "BOOSTED_TREE_CLASSIFIER": "STRING",
    "BOOSTED_TREE_REGRESSOR": "INT64",
    "DNN_CLASSIFIER": "INT64",
    "DNN_REGRESSOR": "NUMERIC",
}


def column(kind, shape="scalar"):
    """Columns of ROWS values, some NULL."""
    arrow, values = TYPES[kind]
    value = st.none() | st.sampled_from(values)
    if shape == "array":
        arrow, value = pa.list_(arrow), st.none() | st.lists(st.sampled_from(values), max_size=3)
    if shape == "struct":
        arrow = pa.struct([("a", arrow), ("b", pa.int64())])
        value = st.none() | st.fixed_dictionaries({"a": value, "b": st.none() | st.just(2**60)})
    return st.lists(value, min_size=ROWS, max_size=ROWS).map(lambda v: pa.array(v, arrow))


@st.composite
def inputs(draw):
    """(rows, model type, options): one to three odd features and a label that fits or does not."""
    names = draw(st.lists(st.sampled_from([*TYPES]), min_size=1, max_size=3))
    shapes = ["scalar", "scalar", "array", "struct"]
    columns = {f"c{i}": draw(column(n, draw(st.sampled_from(shapes)))) for i, n in enumerate(names)}
    model = draw(st.sampled_from([*MODELS]))
    fitting = st.just(MODELS[model])
    columns["label"] = draw(column(draw(fitting | st.sampled_from([*TYPES]))))
    columns["part"] = draw(column(draw(st.sampled_from(["BOOL", "TIMESTAMP", "INT64"]))))
    options = draw(
        st.sampled_from(
            [
                {"data_split_method": "NO_SPLIT"},
                {"data_split_method": "SEQ", "data_split_col": "part"},
                {"data_split_method": "CUSTOM", "data_split_col": "part"},
            ]
        )
    )
    return pa.table(columns), model, {**options, "max_iterations": 2}


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(inputs(), st.sampled_from(["PREDICT", "EVALUATE", "CONFUSION_MATRIX", "FEATURE_INFO"]))
def test_every_input_is_learned_or_refused_by_name(case, function):
    rows, model_type, options = case
    try:
        model = train(rows, model_type, **options)
        model.ask(function, None if function == "FEATURE_INFO" else rows)
        for name in ("WEIGHTS", "FEATURE_IMPORTANCE", "TRAINING_INFO"):
            if name != ("WEIGHTS" if "REG" not in model_type[-4:] else "FEATURE_IMPORTANCE"):
                model.ask(name)
    except BigQueryError as error:
        if error.reason not in NOT_RETRIED:
            raise


@pytest.mark.parametrize("kind", ["TIMESTAMP", "DATE", "DATETIME", "INT64", "NUMERIC"])
@pytest.mark.parametrize("model_type", ["LOGISTIC_REG", "BOOSTED_TREE_CLASSIFIER"])
def test_the_ends_of_a_type_are_trained_on(kind, model_type):
    arrow, values = TYPES[kind]
    label = np.arange(60) % 2 == 0
    chosen = [values[(i // 2) % 2] if i % 2 else values[2] for i in range(60)]
    rows = pa.table({"x": pa.array(chosen, arrow), "label": label})
    model = train(rows, model_type, data_split_method="NO_SPLIT", max_iterations=5)
    found = model.positive(rows)
    assert np.isfinite(found).all()
    assert found[label].mean() > found[~label].mean()
