"""BigQuery ML through the official client, on scikit-learn's breast-cancer table.

Prints one JSON object: what the models answered, for the test to judge.
"""

import json
import sys

import numpy as np
import pandas as pd
from google.api_core.exceptions import BadRequest, GoogleAPICallError, NotFound
from google.cloud import bigquery
from sklearn.datasets import load_breast_cancer

DATASET = sys.argv[1]
BUCKET = sys.argv[2]

client = bigquery.Client()
client.create_dataset(DATASET)


def run(sql: str):
    return client.query(sql.replace("DATASET", DATASET)).result()


def rows(sql: str) -> list[dict]:
    return [dict(row) for row in run(sql)]


def error(sql: str) -> str:
    try:
        run(sql)
    except (BadRequest, GoogleAPICallError) as caught:
        return caught.message
    raise AssertionError(f"no error: {sql}")


data = load_breast_cancer()
frame = pd.DataFrame(data.data, columns=[n.replace(" ", "_") for n in data.feature_names])
frame["sample_id"] = [f"s{i}" for i in range(len(frame))]
frame["malignant"] = np.where(data.target == 0, "yes", "no")
frame["split"] = np.random.default_rng(7).choice(
    ["train", "validation", "test"], len(frame), p=[0.7, 0.15, 0.15]
)
client.load_table_from_dataframe(frame, f"{DATASET}.samples").result()

found: dict = {"models": {}}
for model_type in ("logistic_reg", "boosted_tree_classifier", "dnn_classifier"):
    job = client.query(
        f"""
        CREATE OR REPLACE MODEL {DATASET}.{model_type}
        OPTIONS (model_type = '{model_type}', input_label_cols = ['malignant'],
                 data_split_method = 'CUSTOM', data_split_col = 'is_eval',
                 class_weights = [STRUCT('no', 1.0), STRUCT('yes', 1.5)],
                 max_iterations = 15, early_stop = TRUE)
        AS SELECT * EXCEPT (sample_id, split), split = 'validation' AS is_eval
        FROM {DATASET}.samples WHERE split != 'test'
        """
    )
    job.result()
    test = "(SELECT * EXCEPT (split) FROM DATASET.samples WHERE split = 'test')"
    model = f"MODEL DATASET.{model_type}"
    run(
        f"""
        EXPORT DATA OPTIONS (uri = 'gs://{BUCKET}/{model_type}/raw/*.parquet', format = 'PARQUET',
                             overwrite = TRUE)
        AS SELECT sample_id AS key, predicted_malignant_probs AS probabilities
        FROM ML.PREDICT({model}, {test})
        """
    )
    found["models"][model_type] = {
        "statement": job.statement_type,
        "evaluate": rows(f"SELECT * FROM ML.EVALUATE({model})"),
        "evaluate_test": rows(f"SELECT * FROM ML.EVALUATE({model}, {test})"),
        "strict": rows(f"SELECT * FROM ML.EVALUATE({model}, {test}, STRUCT(0.99 AS threshold))"),
        "predict": rows(
            "SELECT sample_id, malignant, predicted_malignant, predicted_malignant_probs "
            f"FROM ML.PREDICT({model}, {test}, STRUCT(0.5 AS threshold)) ORDER BY sample_id"
        ),
        "confusion": rows(f"SELECT * FROM ML.CONFUSION_MATRIX({model}, {test})"),
        "roc": rows(f"SELECT * FROM ML.ROC_CURVE({model}, {test})"),
        "roc_at": rows(
            f"SELECT * FROM ML.ROC_CURVE({model}, {test}, GENERATE_ARRAY(0.2, 0.6, 0.2))"
        ),
        "training": rows(f"SELECT * FROM ML.TRAINING_INFO({model}) ORDER BY iteration"),
        "features": rows(f"SELECT * FROM ML.FEATURE_INFO({model})"),
    }

found["weights"] = rows("SELECT * FROM ML.WEIGHTS(MODEL DATASET.logistic_reg)")
found["importance"] = rows(
    "SELECT * FROM ML.FEATURE_IMPORTANCE(MODEL DATASET.boosted_tree_classifier) "
    "ORDER BY importance_gain DESC"
)
got = client.get_model(f"{DATASET}.logistic_reg")
found["resource"] = {
    "type": got.model_type,
    "features": [c.name for c in got.feature_columns],
    "labels": [c.name for c in got.label_columns],
    "options": got.training_runs[0]["trainingOptions"],
    "created": got.created.timestamp(),
}
found["listed"] = sorted(m.model_id for m in client.list_models(DATASET))
found["errors"] = {
    "no label": error(
        "CREATE MODEL DATASET.m OPTIONS (model_type = 'linear_reg') AS SELECT 1 AS a"
    ),
    "constant": error(
        "CREATE MODEL DATASET.m OPTIONS (model_type = 'logistic_reg') AS "
        "SELECT mean_area, 'yes' AS label FROM DATASET.samples"
    ),
    "unknown option": error(
        "CREATE MODEL DATASET.m OPTIONS (model_type = 'linear_reg', speed = 3) AS SELECT 1 AS a"
    ),
    "not emulated": error(
        "CREATE MODEL DATASET.m OPTIONS (model_type = 'linear_reg', num_trials = 3) "
        "AS SELECT 1 AS a"
    ),
    "exists": error(
        "CREATE MODEL DATASET.logistic_reg OPTIONS (model_type = 'linear_reg') AS SELECT 1 AS a"
    ),
    "missing column": error(
        "SELECT * FROM ML.PREDICT(MODEL DATASET.logistic_reg, (SELECT 1 AS a))"
    ),
    "no model": error("SELECT * FROM ML.EVALUATE(MODEL DATASET.nothing)"),
}
run("DROP MODEL DATASET.logistic_reg")
try:
    client.get_model(f"{DATASET}.logistic_reg")
except NotFound as caught:
    found["errors"]["dropped"] = caught.message
client.delete_model(f"{DATASET}.dnn_classifier")
found["left"] = sorted(m.model_id for m in client.list_models(DATASET))
print(json.dumps(found, default=str))
