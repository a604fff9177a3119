"""The baselines of a breast-cancer run, by scikit-learn and XGBoost alone, on the same split.

    python baselines_directly.py DATASET_FOLDER RUN_FOLDER

Runs in local_gcp's environment. Prints, by baseline, how far the probabilities that the run's
BigQuery ML predicted for the test rows lie from theirs, and both areas under the ROC curve:

    {"bqml-logistic_reg": {"mean": 0.004, "largest": 0.05, "auc": 0.999, "expected_auc": 0.999}}
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier


def main(dataset: Path, run: Path) -> None:
    files = sorted((dataset / "source").glob("rows-*.parquet"))
    rows = pq.ParquetDataset(files).read().to_pandas().set_index("key")
    splits = dict(list(rows.groupby("split")))
    x = {name: part.drop(columns=["split", "label"]).to_numpy() for name, part in splits.items()}
    y = {name: (part["label"] == "true").to_numpy() for name, part in splits.items()}

    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(x["train"], y["train"])
    results = {
        "bqml-logistic_reg": logistic.predict_proba(x["test"])[:, 1],
        "bqml-boosted_tree_classifier": boosted(x, y),
    }
    keys = splits["test"].index
    print(json.dumps({name: compare(run, name, keys, y, p) for name, p in results.items()}))


def boosted(x, y) -> np.ndarray:
    """Trees by the documented defaults of BOOSTED_TREE_CLASSIFIER, and its rule to stop early.

    learn_rate 0.3, max_tree_depth 6, l2_reg 1, at most 20 trees; no more of them after the one that
    betters the validation loss by less than min_rel_progress, 1%.
    """
    model = XGBClassifier(
        n_estimators=20,
        learning_rate=0.3,
        max_depth=6,
        reg_lambda=1,
        # Defaults of XGBoost 0.9, which BigQuery ML runs.
        base_score=0.5,
        tree_method="exact",
    ).fit(x["train"], y["train"])
    losses = [
        log_loss(
            y["validation"], model.predict_proba(x["validation"], iteration_range=(0, n))[:, 1]
        )
        for n in range(1, 21)
    ]
    trees = next((n for n in range(1, 20) if losses[n] > losses[n - 1] * (1 - 0.01)), 19)
    return model.predict_proba(x["test"], iteration_range=(0, trees + 1))[:, 1]


def compare(run: Path, name: str, keys, y, probabilities: np.ndarray) -> dict[str, float]:
    table = pq.read_table(run / "baselines" / name / "predictions.parquet").to_pandas()
    predicted = np.stack(table.set_index("key").loc[keys, "probabilities"])[:, 1]
    difference = np.abs(predicted - probabilities)
    return {
        "mean": float(difference.mean()),
        "largest": float(difference.max()),
        "auc": float(roc_auc_score(y["test"], predicted)),
        "expected_auc": float(roc_auc_score(y["test"], probabilities)),
    }


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
