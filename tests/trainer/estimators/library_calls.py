"""What a library answers to a dataset by its own call, without Trellis between them.

    python -m tests.trainer.estimators.library_calls NAME DATASET

Runs in the environment of the library's image. Prints a JSON object: what is predicted for each key
of the test split. Only the numbers of a row are Trellis' own: which of them there are, and in which
order, is `batch.numpy()`'s to say; images are decoded by Pillow.
"""

import io
import json
import sys

import numpy as np
from PIL import Image

from trainer import dataset_description, stored
from trainer.estimators import batch
from trainer.stored import StoredBatch

EPOCHS, SEED = 6, 3


def sklearn(address: str) -> np.ndarray:
    """All trees of the epochs by one call; of them as many as predict the validation split best."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import log_loss

    trees = HistGradientBoostingClassifier(
        max_iter=10 * EPOCHS, max_leaf_nodes=15, early_stopping=False, random_state=SEED
    )
    trees.fit(*numbers(address, "train"))
    x, labels = numbers(address, "validation")
    losses = [log_loss(labels, one) for one in trees.staged_predict_proba(x)][9::10]
    stages = [*trees.staged_predict_proba(numbers(address, "test")[0])][9::10]
    return stages[np.argmin(losses)]


def xgboost(address: str) -> np.ndarray:
    """Boosted trees by XGBoost's interface of scikit-learn's form."""
    from xgboost import XGBClassifier

    trees = XGBClassifier(
        n_estimators=EPOCHS,
        learning_rate=0.1,
        max_depth=4,
        subsample=0.8,
        early_stopping_rounds=20,
        eval_metric="logloss",
        random_state=SEED,
    )
    found = {split: numbers(address, split) for split in ("train", "validation", "test")}
    trees.fit(*found["train"], eval_set=[found["validation"]], verbose=False)
    return trees.predict_proba(found["test"][0])


def torch(address: str) -> np.ndarray:
    """A convolutional network, trained by a loop as PyTorch's tutorials have it."""
    import torch
    from torch import nn

    torch.manual_seed(SEED)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(16 * 4 * 4, 10),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    found = {
        split: tuple(map(torch.from_numpy, pixels(address, split)))
        for split in ("train", "validation", "test")
    }
    x, y = found["train"]
    lowest, best = float("inf"), {}
    for epoch in range(1, EPOCHS + 1):
        torch.manual_seed(SEED + 1000 * epoch)
        net.train()
        for rows in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x[rows]), y[rows]).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            held_out, labels = found["validation"]
            loss = nn.functional.cross_entropy(net(held_out), labels).item()
        if loss < lowest:
            lowest, best = loss, {name: value.clone() for name, value in net.state_dict().items()}
    net.load_state_dict(best)
    with torch.no_grad():
        return net(found["test"][0]).softmax(1).numpy()


def read(address: str, split: str) -> StoredBatch:
    """All examples of a split."""
    (found,) = stored.batches(address, dataset_description.load(address), split, 100_000)
    return found


def numbers(address: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """(n, columns) and the labels, (n,)."""
    found = read(address, split)
    features = dataset_description.load(address).features
    return batch.of_stored(found, features).numpy(), found.labels


def pixels(address: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """(n, 1, height, width) from 0 to 1, and the labels, (n,)."""
    found = read(address, split)
    files = [one["image"].bytes_list.value[0] for one in found.features]
    images = np.stack([np.asarray(Image.open(io.BytesIO(file))) for file in files])
    return images[:, None].astype(np.float32) / 255, found.labels


if __name__ == "__main__":
    name, dataset = sys.argv[1:]
    answers = {"sklearn": sklearn, "xgboost": xgboost, "torch": torch}[name](dataset)
    keys = read(dataset, "test").keys
    print(json.dumps(dict(zip(map(str, keys), answers.tolist(), strict=True))))
