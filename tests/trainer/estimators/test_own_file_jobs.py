"""A file with `fit` in processes of its own: one that is killed and started again, and several that
train one model together.
"""

import json
import re

import numpy as np
import pytest

from testbed.tables import mixed_rows, write_table
from testbed.trainings import MODULE, Job, arguments, without_seconds
from trainer import predictions
from trainer.estimators import run
from trainer.training import TrainingError
from trainer.training.data_checks import checked_dataset
from trainer.training.flags import parse_flags

# A logistic regression: a step an epoch, a checkpoint after each. Where HOLD says so, it stands
# still until it is killed.
RESUMING = """
import os
import pickle
import sys
import time

import numpy as np

HYPERPARAMETERS = {}


def fit(data, hyperparameters, report, run):
    x, labels = standard(data.train), data.train.labels
    last, done = run.checkpoints / "last.pickle", 0
    slopes = np.random.default_rng(run.seed).normal(size=x.shape[1])
    if last.exists():
        done, slopes = pickle.loads(last.read_bytes())
        print(f"goes on after epoch {done}", flush=True)
    for epoch in range(done + 1, run.epochs + 1):
        slopes = slopes + x.T @ (labels - share(x, slopes)) / len(x)
        report(epoch=epoch, slope=abs(slopes).sum())
        hold(f"{epoch} reported")
        new = last.with_suffix(".new")
        new.write_bytes(pickle.dumps((epoch, slopes)))
        os.replace(new, last)
        hold(f"{epoch} saved")
    assert "tensorflow" not in sys.modules, "which takes seconds to import"
    return Logistic(slopes)


def standard(rows):
    return np.tanh(np.nan_to_num(rows.numpy()))


def share(x, slopes):
    return 1 / (1 + np.exp(-x @ slopes))


def hold(where):
    if os.environ.get("HOLD") == where:
        print(f"holds when {where}", flush=True)
        time.sleep(3600)


def load(folder):
    return Logistic(pickle.loads((folder / "slopes.pickle").read_bytes()))


class Logistic:
    def __init__(self, slopes):
        self.slopes = slopes

    def predict(self, batch):
        found = share(standard(batch), self.slopes)
        return np.stack([1 - found, found], axis=1)

    def save(self, folder):
        (folder / "slopes.pickle").write_bytes(pickle.dumps(self.slopes))
"""

# Each worker counts its share of the positives; the first one adds them up, and tells the others.
COUNTING = """
import pickle
import socket

import numpy as np

SEVERAL_WORKERS = True


def fit(data, hyperparameters, report, run):
    workers = run.workers
    own = int(data.train.labels[workers.rank :: len(workers)].sum())
    host, port = workers.addresses[0].rsplit(":", 1)
    total = own
    if workers.rank == 0:
        with socket.create_server((host, int(port))) as server:
            peers = [server.accept()[0].makefile("rw") for _ in workers.addresses[1:]]
            shares = [int(peer.readline()) for peer in peers]
            total += sum(shares)
            for peer in peers:
                print(total, file=peer, flush=True)
    else:
        with connected(host, int(port)) as peer:
            print(own, file=peer, flush=True)
            total = int(peer.readline())
    print(f"rank {workers.rank} of {len(workers)} counts {own} of {total}", flush=True)
    report(metric=0.5, share=own / total)
    share = total / len(data.train)
    return Constant([1 - share, share]) if workers.rank == 0 else None


def connected(host, port):
    for _ in range(200):
        try:
            return socket.create_connection((host, port)).makefile("rw")
        except ConnectionRefusedError:
            import time
            time.sleep(0.1)
    raise ConnectionRefusedError


def load(folder):
    return Constant(pickle.loads((folder / "row.pickle").read_bytes()))


class Constant:
    def __init__(self, row):
        self.row = row

    def predict(self, batch):
        return np.tile(self.row, (len(batch), 1))

    def save(self, folder):
        (folder / "row.pickle").write_bytes(pickle.dumps(self.row))
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    columns, labels = mixed_rows(200)
    files = {"train": [120], "validation": [40], "test": [40]}
    return write_table(tmp_path_factory.mktemp("datasets") / "rows", columns, labels, files=files)


@pytest.fixture
def job(tmp_path, rows):
    """A function: names of the replicas, the model's file -> the job, which is ended in the end."""
    jobs = []

    def job(text, *names, **flags):
        folder = tmp_path / f"job{len(jobs)}"
        folder.mkdir()
        (folder / "mine.py").write_text(text)
        flags = {"model": folder / "mine.py", "task": "binary_classification", **flags}
        jobs.append(Job(folder, names, [*MODULE, *arguments(rows, **flags)]))
        return jobs[-1]

    yield job
    for one in jobs:
        one.end()


def output(job):
    return predictions.read(job.folder / "output/predictions.parquet")


def test_one_that_is_killed_ends_as_one_that_ran_through(job, monkeypatch):
    """Predictions and reported figures are the same; SIGKILL gives the process no last word."""
    through = job(RESUMING, "chief:0", epochs=6)
    through.start()
    assert set(through.wait().values()) == {0}
    killed = job(RESUMING, "chief:0", epochs=6)
    # Twice: after an epoch that is reported and in no checkpoint, and after one that is in both.
    for hold in ("3 reported", "4 saved"):
        monkeypatch.setenv("HOLD", hold)
        killed.start()
        killed.wait_for("chief:0", f"holds when {hold}")
        killed.kill("chief:0")
        assert set(killed.wait().values()) == {-9}
        assert not (killed.folder / "output/metrics.json").exists()
    monkeypatch.delenv("HOLD")
    killed.start()
    assert set(killed.wait().values()) == {0}
    said = killed.log("chief:0")
    assert re.findall(r"goes on after epoch (\d)", said) == ["2", "4"]
    np.testing.assert_array_equal(output(killed).probabilities, output(through).probabilities)
    expected, found = without_seconds(through.metrics), without_seconds(killed.metrics)
    assert [row["epoch"] for row in found["history"]] == [1, 2, 3, 4, 5, 6]
    assert found["history"] == expected["history"]
    assert found["test"] == expected["test"]


def test_several_workers_train_one_model(job):
    """They know each other's addresses and their own rank; the first one's results count."""
    one = job(COUNTING, "chief:0", "worker:0", "worker:1")
    one.start()
    assert set(one.wait().values()) == {0}
    shares = {}
    for rank, name in enumerate(("chief:0", "worker:0", "worker:1")):
        (line,) = [x for x in one.log(name).splitlines() if x.startswith("rank ")]
        _, found, _, of, _, own, _, total = line.split()
        assert (int(found), of) == (rank, "3")
        shares[name] = int(own)
    assert int(total) == sum(shares.values())
    assert one.metrics["strategy"] == "multi_worker"
    (row,) = one.metrics["history"]
    assert row["share"] == pytest.approx(shares["chief:0"] / int(total))
    np.testing.assert_allclose(
        output(one).probabilities[0], [1 - int(total) / 120, int(total) / 120]
    )
    saved = json.loads((one.folder / "output/checkpoints/report.json").read_text())
    assert len(saved) == 1


@pytest.mark.parametrize(
    ("text", "names", "problem"),
    [
        (RESUMING, ("chief:0", "worker:0"), "write SEVERAL_WORKERS = True in the file"),
        (
            COUNTING.replace("WORKERS = True", "WORKERS = False"),
            ("chief:0", "worker:0"),
            "which runs in one process",
        ),
        (COUNTING, ("chief:0", "worker:0", "ps:0"), "give the job no servers"),
    ],
)
def test_machines_that_a_file_does_not_know_of_are_refused(
    rows, tmp_path, monkeypatch, text, names, problem
):
    cluster = {name.partition(":")[0]: ["127.0.0.1:1"] for name in names}
    machines = {"cluster": cluster, "task": {"type": "chief", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(machines))
    (tmp_path / "mine.py").write_text(text)
    flags = {"model": tmp_path / "mine.py", "task": "binary_classification"}
    settings = parse_flags(arguments(rows, output=tmp_path / "output", **flags), "")
    with pytest.raises(TrainingError, match=problem):
        run.train(settings, checked_dataset(settings))


def test_a_worker_that_fails_names_its_line(job):
    text = COUNTING.replace(
        "    own = int", "    assert workers.rank == 0, 'no disk left'\n    own = int"
    )
    one = job(text, "chief:0", "worker:0")
    one.start()
    one.wait_for("worker:0", "AssertionError: no disk left")
    one.kill("chief:0")
    assert one.wait()["worker:0"] == 1
