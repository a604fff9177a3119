"""What a stranger does with `trellis export-split`: python elsewhere.py FOLDER PREDICTIONS ANSWERS

Fits scikit-learn's gradient boosting on FOLDER/train.parquet, and writes its predictions of the
keys of FOLDER/test.parquet. ANSWERS: test.parquet with the labels, which the model never sees; its
scores by scikit-learn itself are printed as JSON.
"""

import json
import sys
from pathlib import Path

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score

folder, predictions, answers = map(Path, sys.argv[1:])
train, test = (pd.read_parquet(folder / f"{split}.parquet") for split in ("train", "test"))
features = [name for name in test if name != "key"]
model = HistGradientBoostingClassifier(max_iter=30, random_state=0)
model.fit(train[features], train["label"])
shares = model.predict_proba(test[features])
predicted = pd.DataFrame(shares, columns=model.classes_).assign(key=test["key"])
predicted.to_parquet(predictions, index=False)
truth = pd.read_parquet(answers).set_index("key")["label"].loc[test["key"]]
scores = {
    "auc": roc_auc_score(truth == "yes", predicted["yes"]),
    "log_loss": log_loss(truth, shares, labels=model.classes_),
}
print(json.dumps(scores))
