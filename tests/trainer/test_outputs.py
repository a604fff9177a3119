"""What a program of a group's own leaves, by the program of dags/experiments/programs and by one of
times to an event: they have NumPy and pyarrow, no TensorFlow and nothing of the trainer.
"""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.trainer.comparison.test_folds import Crossed
from tests.trainer.exporting.tables.helpers import run, write_table
from tests.trainer.raw_tables import write_with_source
from tests.trainer.test_survival import FEATURES, TASK, patients
from tests.trellis.workflow.programs.hazards import concordance
from tests.withheld import shown
from trainer import dataset_description, outputs, predictions
from trainer.comparison.held_out_split import read_held_out_split
from trainer.metrics import survival
from trellis_contracts import folds
from trellis_contracts.folds import EVERYTHING
from trellis_contracts.program import page, terms
from trellis_contracts.program.inputs import Job
from trellis_contracts.training import TrainedOn

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv/local_gcp/bin/python"
PROGRAMS = ("dags/experiments/programs", "tests/trellis/workflow/programs")
FILES = {"train": [120], "validation": [40], "test": [30]}
COMMON = ["--epochs=1", "--seed=0"]
FLAGS = ["--task=binary_classification", "--metric=auc", "--neighbours=9", "--power", "1.0"]
OF_TIMES = ["--task=time_to_event", "--metric=concordance", "--ridge=0.1"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Address of a table with two columns that tell the class."""
    draw = np.random.default_rng(0)
    label = np.arange(190) % 2
    columns = {
        name: ("numeric", (label + draw.normal(size=190)).tolist()) for name in ("radius", "rough")
    }
    folder = tmp_path_factory.mktemp("program") / "dataset"
    return write_with_source(folder, columns, label, FILES, task="binary_classification")


def trained(dataset, folder, *flags, program="nearest", own=FLAGS, **variables):
    """Run a program as a job does; its output folder."""
    paths = [ROOT / "contracts", *(ROOT / folder for folder in PROGRAMS)]
    given = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "AIP_MODEL_DIR": f"{folder}/model/"}
    subprocess.run(
        [PYTHON, "-m", f"{program}.train", f"--dataset={dataset}", *COMMON, *own, *flags],
        env=given | variables,
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def whole(dataset, tmp_path_factory):
    """The folder of a full training."""
    return trained(dataset, tmp_path_factory.mktemp("training"), "--outputs=all")


@pytest.fixture
def training(whole, tmp_path):
    """A copy, to break."""
    return Path(shutil.copytree(whole, tmp_path / "training"))


def broken(dataset, training, metric="auc"):
    """{file: (rule, text)} of each rule that the outputs break."""
    described = dataset_description.load(dataset)
    split = read_held_out_split(dataset, described)
    found = outputs.problems(f"{training}/", metric, described.fingerprint, split)
    return {Path(address).name: (rule, shown(text)) for address, rule, text in found}


def test_a_program_that_uses_the_helpers_keeps_every_rule(dataset, training):
    assert broken(dataset, training) == {}
    metrics = json.loads((training / "metrics.json").read_text())
    assert metrics["hyperparameters"] == {"neighbours": 9, "power": 1.0}
    assert metrics["validation"]["auc"] > 0.7


def test_figures_in_the_form_that_the_page_shows_keep_every_rule(dataset, training):
    """A program in another language has that page alone."""
    fingerprint = dataset_description.load(dataset).fingerprint
    figures = replace(page.EXAMPLE, dataset=TrainedOn(f"{dataset}/", fingerprint))
    (training / "metrics.json").write_text(figures.to_json("metrics.json"))
    assert broken(dataset, training) == {}


def test_a_trial_reports_its_metric_and_leaves_nothing(dataset, tmp_path):
    file = tmp_path / "metric"
    trial = {"CLOUD_ML_TRIAL_ID": "3", "CLOUD_ML_HP_METRIC_FILE": str(file)}
    trained(dataset, tmp_path / "trial", "--outputs=metrics", **trial)
    line = json.loads(file.read_text())
    assert (line["trial"], line["global_step"]) == ("3", "1")
    assert 0.7 < float(line["auc"]) <= 1
    assert not (tmp_path / "trial").exists()


@pytest.mark.parametrize("name", [output.name for output in terms.OUTPUTS])
def test_what_is_not_there_is_named(dataset, training, name):
    path = training / name
    if name.endswith("/"):
        shutil.rmtree(path)
    else:
        path.unlink()
    assert {file: rule for file, (rule, _) in broken(dataset, training).items()} == {
        path.name: "there"
    }


def rewritten(training, change):
    """Change the predictions' columns: {name: list}."""
    file = training / "predictions.parquet"
    table = pq.read_table(file)
    columns = table.to_pydict()
    change(columns)
    pq.write_table(pa.table(columns, schema=table.schema), file)


def without_the_last(columns):
    for values in columns.values():
        values.pop()


def another_key(columns):
    columns["key"][0] = "of nobody"


def not_normalised(columns):
    columns["probabilities"][0] = [0.9, 0.9]


def not_a_number(columns):
    columns["probabilities"][0] = [float("nan"), 0.5]


def another_label(columns):
    columns["label"][0] = 1 - columns["label"][0]


def no_class(columns):
    columns["label"][0] = 2


def a_key_twice(columns):
    columns["key"][0] = columns["key"][1]


def one_probability(columns):
    columns["probabilities"][0] = [1.0]


def null(columns):
    columns["key"][0] = None


FIRST, LAST = 0, -1


@pytest.mark.parametrize(
    ("change", "rule", "named"),
    [
        (without_the_last, "keys", LAST),
        (another_key, "keys", "of nobody"),
        (not_normalised, "sum", FIRST),
        (not_a_number, "finite", FIRST),
        (another_label, "labels", FIRST),
        (no_class, "labels", FIRST),
        (a_key_twice, "keys", 1),
        (one_probability, "form", FIRST),
        (null, "form", "key"),
    ],
)
def test_predictions_that_break_a_rule_are_named_with_it_and_the_key(
    dataset, training, change, rule, named
):
    keys = pq.read_table(training / "predictions.parquet")["key"].to_pylist()
    rewritten(training, change)
    found = broken(dataset, training)
    assert {file: one for file, (one, _) in found.items()} == {"predictions.parquet": rule}
    key = keys[named] if isinstance(named, int) else named
    assert key in found["predictions.parquet"][1]


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        (("validation",), {"loss": 0.3}, "metric"),
        (("metric",), "accuracy", "metric"),
        (("dataset", "fingerprint"), "0" * 16, "dataset"),
        (("strategy",), "single", "strategy"),
        (("history",), "none", "metric"),
    ],
)
def test_figures_that_break_a_rule_are_named_with_it(dataset, training, path, value, rule):
    file = training / "metrics.json"
    content = json.loads(file.read_text())
    part = content
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    file.write_text(json.dumps(content))
    assert {rule for rule, _ in broken(dataset, training).values()} == {rule}


@pytest.fixture(scope="module")
def of_times(tmp_path_factory):
    """Address of a dataset of times to an event, and the folder of a program's full training."""
    folder = tmp_path_factory.mktemp("times")
    source = write_table(folder / "dataset/source", patients(), FEATURES, **TASK)
    assert run(source, folder / "dataset") == 0
    address = str(folder / "dataset")
    made = trained(address, folder / "training", "--outputs=all", program="hazards", own=OF_TIMES)
    return address, made


def test_a_program_of_times_keeps_every_rule_and_its_concordance_is_ours(of_times):
    address, folder = of_times
    assert broken(address, folder, "concordance") == {}
    described = dataset_description.load(address)
    predicted = predictions.read(folder / "predictions.parquet")
    assert predicted.times == described.label.times
    split = read_held_out_split(address, described)
    found = survival.exact(split.outcome(predicted))
    risks, (times, events) = predicted.risks, predicted.labels.T
    assert found["concordance"] == pytest.approx(concordance(risks, times, events == 1), abs=1e-9)
    assert found["concordance"] > 0.7
    assert found["integrated_brier"] < 0.2


def test_records_hold_the_time_and_the_event_that_rows_have(of_times):
    job = Job(of_times[0], "time_to_event", "concordance", epochs=1, seed=0, whole=True)
    rows = job.rows("test")
    named = zip(*(rows[name].to_pylist() for name in ("key", "label", "label_event")), strict=True)
    known = {key: [time, event] for key, time, event in named}
    found = {one["key"][0].decode(): one["label"] for one in job.records("test")}
    assert found == known


def of_curve(place, value):
    """Change a number of the first curve."""

    def change(columns):
        columns["survival"][0][place] = value

    return change


def no_risk(columns):
    columns["risk"][0] = float("nan")


def a_horizon_less(columns):
    columns["survival"][0].pop()


def another_event(columns):
    columns["event"][0] = not columns["event"][0]


@pytest.mark.parametrize(
    ("change", "rule", "text"),
    [
        (of_curve(LAST, 1.0), "curve", "the probability of survival rises with time"),
        (of_curve(FIRST, 1.5), "curve", "a probability is outside [0, 1]"),
        (of_curve(LAST, -0.1), "curve", "a probability is outside [0, 1]"),
        (of_curve(FIRST, float("nan")), "finite", "risk or survival is NaN"),
        (no_risk, "finite", "risk or survival is NaN"),
        (a_horizon_less, "form", "one per time"),
        (another_event, "labels", "has wrong labels for 1 of"),
        (without_the_last, "keys", "1 missing"),
    ],
)
def test_curves_that_break_a_rule_are_named_with_it_and_the_key(
    of_times, tmp_path, change, rule, text
):
    address, whole = of_times
    training = Path(shutil.copytree(whole, tmp_path / "training"))
    keys = pq.read_table(training / "predictions.parquet")["key"].to_pylist()
    rewritten(training, change)
    found = broken(address, training, "concordance")
    assert {file: one for file, (one, _) in found.items()} == {"predictions.parquet": rule}
    assert text in found["predictions.parquet"][1]
    assert keys[LAST if change is without_the_last else FIRST] in found["predictions.parquet"][1]


def test_curves_at_other_times_than_the_datasets_are_refused(of_times, tmp_path):
    address, whole = of_times
    training = Path(shutil.copytree(whole, tmp_path / "training"))
    file = training / "predictions.parquet"
    table = pq.read_table(file)
    times = json.loads(table.schema.metadata[b"times"])
    later = json.dumps([*times[:-1], times[-1] + 1]).encode()
    pq.write_table(table.replace_schema_metadata(table.schema.metadata | {b"times": later}), file)
    ((rule, text),) = broken(address, training, "concordance").values()
    assert rule == "form"
    assert f"the dataset has {times[0]:g}" in text


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    """A cross-validation by the program: in each fold, and of all rows for the model to deploy."""
    made = Crossed(tmp_path_factory.mktemp("crossed"), 1)
    for part in (EVERYTHING, *made.folds.parts):
        folder = made.path if part == EVERYTHING else made.path / "folds" / part
        trained(folds.dataset(f"{made.dataset}/", part), folder / "training/1", "--outputs=all")
    return made


@pytest.mark.usefixtures("undrawn", "few_resamples")
def test_a_program_is_checked_and_compared_in_every_fold(crossed):
    names = outputs.check(crossed.uri, "auc")
    assert names == ["training/1", *(f"folds/1-{n}/training/1" for n in (1, 2, 3))]
    board = crossed.compared()
    assert [one["part"] for one in board["folds"]["choices"]] == ["1-1", "1-2", "1-3"]
    assert board["contenders"][0]["metrics"]["auc"]["value"] > 0.9


def test_what_breaks_a_rule_in_a_fold_is_named_with_it_and_its_keys_are_in_the_bucket(
    crossed, capsys
):
    training = crossed.path / "folds/1-2/training/1"
    kept = (training / "predictions.parquet").read_bytes()
    rewritten(training, another_key)
    assert outputs.main(["--run", crossed.uri, "--metric", "auc"]) == 1
    (training / "predictions.parquet").write_bytes(kept)
    message = capsys.readouterr().err
    examples = crossed.path / "examples/outputs.txt"
    _, line, last = message.splitlines()
    assert "folds/1-2/training/1/predictions.parquet" in line
    assert terms.RULES["keys"] in line
    assert last.endswith(str(examples))
    assert "of nobody" not in message
    assert "of nobody" in examples.read_text()
