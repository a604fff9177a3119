"""BigQuery ML: observe_bqml.py DATASET."""

import itertools
import math
import random
import sys
from typing import Any

from google.cloud import bigquery
from observing import PROJECT, accepted, show

DATASET = sys.argv[1]
bigquery_client = bigquery.Client(PROJECT)
bigquery_client.create_dataset(DATASET)
dice = random.Random(3)
DATA = []
for number in range(1200):
    x, y, noise = (dice.gauss(0, 1) for _ in range(3))
    DATA.append(
        {
            "x": x,
            "y": y,
            "label": int(x + 0.5 * y + 0.7 * noise > 1.2),
            "value": 3 * x + y + noise,
            "held": number % 4 == 0,
        }
    )
bigquery_client.load_table_from_json(DATA, f"{DATASET}.data").result()
HELD = f"(SELECT x, y, label FROM {DATASET}.data WHERE held)"
REST = f"(SELECT x, y, label FROM {DATASET}.data WHERE NOT held)"


def run(query: str) -> Any:
    return bigquery_client.query(query).result()


def rows(query: str) -> list[dict[str, Any]]:
    return [dict(row) for row in run(query)]


def columns(query: str) -> list[str]:
    return [field.name for field in run(query).schema]


def ml(function: str, model: str, *more: str) -> str:
    return f"SELECT * FROM ML.{function}({', '.join((f'MODEL {DATASET}.{model}', *more))})"


def create(model: str, model_type: str, label: str = "label", **options: str) -> Any:
    given = {
        "model_type": f"'{model_type}'",
        "input_label_cols": f"['{label}']",
        "data_split_method": "'CUSTOM'",
        "data_split_col": "'held'",
        **options,
    }
    text = ", ".join(f"{name}={value}" for name, value in given.items())
    return run(
        f"CREATE OR REPLACE MODEL {DATASET}.{model} OPTIONS({text}) "
        f"AS SELECT x, y, {label}, held FROM {DATASET}.data"
    )


def learned(model: str) -> dict[str, str]:
    """The iterations of ML.TRAINING_INFO as they come, and how the learning rates follow."""
    info = rows(ml("TRAINING_INFO", model))
    numbers = [row["iteration"] for row in info]
    rates = [row["learning_rate"] for row in reversed(info)]
    # Of a row and the one after it.
    steps = [None not in pair and pair[1] / pair[0] for pair in itertools.pairwise(rates)]
    rate = "other"
    if rates == [None]:
        rate = "none"
    elif len(rates) > 1 and len(set(rates)) == 1:
        rate = f"{rates[0]:g} throughout"
    elif all(any(math.isclose(step, factor) for factor in (2, 1, 0.5, 0.25)) for step in steps):
        rate = f"{rates[0]:g}, then 2, 1, 1/2 or 1/4 times the last"
    down = numbers == sorted(numbers, reverse=True)
    gaps = {later - earlier for later, earlier in itertools.pairwise(numbers)}
    return {
        "iterations": f"down to {numbers[-1]}" if down and gaps <= {1} else str(numbers),
        "learning rates": rate,
    }


found: dict[str, Any] = {}
create("logistic", "LOGISTIC_REG", auto_class_weights="TRUE")
found["ML.TRAINING_INFO: columns"] = columns(ml("TRAINING_INFO", "logistic"))
found["ML.TRAINING_INFO of LOGISTIC_REG"] = learned("logistic")
(last, *_) = rows(ml("TRAINING_INFO", "logistic"))
for name, subset in (("loss", REST), ("eval_loss", HELD)):
    (measured,) = rows(ml("EVALUATE", "logistic", subset))
    found[f"LOGISTIC_REG with class weights: last {name} is ML.EVALUATE's log_loss"] = math.isclose(
        last[name], measured["log_loss"], rel_tol=1e-6
    )
found["ML.EVALUATE of a classifier: columns"] = columns(ml("EVALUATE", "logistic"))
found["ML.CONFUSION_MATRIX: columns"] = columns(ml("CONFUSION_MATRIX", "logistic", HELD))
found["ML.CONFUSION_MATRIX: labels of the rows"] = [
    str(row["expected_label"]) for row in rows(ml("CONFUSION_MATRIX", "logistic", HELD))
]
found["ML.ROC_CURVE: columns"] = columns(ml("ROC_CURVE", "logistic", HELD))
curve = rows(ml("ROC_CURVE", "logistic", HELD))
returned = [row["true_positives"] + row["false_positives"] for row in curve]
held = sum(row["held"] for row in DATA)
found["ML.ROC_CURVE: share of rows at the first thresholds"] = [
    round(100 * count / held) for count in returned[1:5]
]
predicted = rows(ml("PREDICT", "logistic", HELD))
found["ML.PREDICT of a classifier: order of the probabilities"] = sorted(
    {str([p["label"] for p in row["predicted_label_probs"]]) for row in predicted}
)
found["ML.PREDICT of a classifier: some are likelier negative"] = any(
    row["predicted_label_probs"][0]["prob"] < 0.5 for row in predicted
)
model = bigquery_client.get_model(f"{DATASET}.logistic")
model.labels = {"series": "03"}
found["UpdateModel: labels"] = bigquery_client.update_model(model, ["labels"]).labels

create("linear", "LINEAR_REG", "value")
found["ML.TRAINING_INFO of LINEAR_REG, normal equation"] = learned("linear")
found["ML.EVALUATE of a regressor: columns"] = columns(ml("EVALUATE", "linear"))
found["ML.PREDICT of a regressor: columns"] = columns(
    ml("PREDICT", "linear", f"(SELECT x, y FROM {DATASET}.data)")
)
create("unsplit", "LINEAR_REG", "value", data_split_method="'NO_SPLIT'", data_split_col="NULL")
found["ML.TRAINING_INFO of LINEAR_REG without evaluation rows: eval_loss"] = [
    row["eval_loss"] for row in rows(ml("TRAINING_INFO", "unsplit"))
]
create("descent", "LINEAR_REG", "value", optimize_strategy="'BATCH_GRADIENT_DESCENT'")
found["ML.TRAINING_INFO of LINEAR_REG, gradient descent"] = learned("descent")
create("network", "DNN_REGRESSOR", "value", learn_rate="0.1", hidden_units="[4]")
found["ML.TRAINING_INFO of DNN_REGRESSOR, learn_rate 0.1"] = learned("network")

trees = {
    "booster_type": "'GBTREE'",
    "num_parallel_tree": "1",
    "tree_method": "'HIST'",
    "early_stop": "TRUE",
    "min_rel_progress": "0.0",
    "max_iterations": "50",
}
found["BOOSTED_TREE: booster_type, num_parallel_tree, tree_method"] = accepted(
    lambda: create("trees", "BOOSTED_TREE_CLASSIFIER", **trees)
)
found["ML.TRAINING_INFO of BOOSTED_TREE"] = learned("trees")
losses = [row["eval_loss"] for row in reversed(rows(ml("TRAINING_INFO", "trees")))]
found["BOOSTED_TREE: stops after the first iteration that is worse, which is kept"] = [
    later >= earlier for earlier, later in itertools.pairwise(losses)
] == [False] * (len(losses) - 2) + [True]
found["BOOSTED_TREE: subsample"] = accepted(
    lambda: create("sampled", "BOOSTED_TREE_CLASSIFIER", subsample="0.85", max_iterations="2")
)

found["enable_global_explain"] = accepted(
    lambda: create("explained", "LOGISTIC_REG", enable_global_explain="TRUE")
)
found["HPARAM_RANGE"] = accepted(
    lambda: create("tuned", "LOGISTIC_REG", num_trials="2", l2_reg="HPARAM_RANGE(0, 1)")
)
found["ML.TRIAL_INFO"] = accepted(lambda: run(ml("TRIAL_INFO", "logistic")))
found["ML.EXPLAIN_PREDICT"] = accepted(
    lambda: run(ml("EXPLAIN_PREDICT", "logistic", HELD, "STRUCT(5 AS top_k_features)"))
)
found["MATRIX_FACTORIZATION"] = accepted(
    lambda: run(
        f"CREATE MODEL {DATASET}.factors OPTIONS(model_type='MATRIX_FACTORIZATION') "
        f"AS SELECT 1 AS user, 2 AS item, 3.0 AS rating"
    )
)
found["model_registry"] = accepted(
    lambda: create("registered", "LOGISTIC_REG", model_registry="'VERTEX_AI'")
)
show(found)
