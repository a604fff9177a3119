"""Models' own files among an experiment's models: `model`, and any of `other_models`."""

import pytest

from tests.airflow_side import ROOT
from trellis.workflow.spec import job_images
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation.file import catalog_of, known_to, load
from trellis.workflow.validation.group import unknown_classes

BOOSTING = (ROOT / "dags/experiments/gradient-boosting.yaml").read_text()
FILE = (ROOT / "dags/experiments/gradient_boosting.py").read_text()
BESIDE = BOOSTING.replace("model: gradient_boosting.py ", "model: dense").replace(
    "hyperparameters: {patience: 5}\n", ""
)
BESIDE = BESIDE.replace("    learning_rate: {from: 0.02, to: 0.5, scale: log}\n", "").replace(
    "leaves:        {from: 4, to: 31}", "units: {choose: [16, 32]}"
)
SEARCHED = BESIDE.replace(
    "dense: {hyperparameters: {units: 32, learning_rate: 0.01}}",
    "gradient_boosting.py: {search: {leaves: {from: 4, to: 31}}}",
)


@pytest.fixture
def loaded(tmp_path):
    """A function: an experiment's text, a file's -> the experiment."""

    def load_(text, file=FILE):
        (tmp_path / "experiments").mkdir(exist_ok=True)
        (tmp_path / "experiments/gradient_boosting.py").write_text(file)
        path = tmp_path / "experiments/cells.yaml"
        path.write_text(text)
        return load(path)

    return load_


def test_a_file_is_one_of_the_other_models(loaded, group):
    experiment = loaded(SEARCHED)
    assert experiment.own_model is None
    boosting = experiment.of("gradient_boosting.py")
    assert boosting.own_model.name == "gradient_boosting.py"
    assert set(known_to(boosting)) == {"learning_rate", "leaves", "patience"}
    for one in (experiment, boosting):
        assert "/trainer:" in job_images.of_server(one, group, gpu=False)


@pytest.mark.parametrize(
    ("text", "file", "place", "problem"),
    [
        (SEARCHED.replace("leaves:", "leave:"), FILE, "search.leave", "did you mean 'leaves'"),
        (SEARCHED.replace("to: 31", "to: 300"), FILE, "leaves.to", "from 2 to 255"),
        (SEARCHED, "def fit(data): ...\n", "other_models.gradient_boosting.py", "line 1"),
        (SEARCHED, f"import torch\n{FILE}", "other_models.gradient_boosting.py", "imports torch"),
        (BOOSTING.replace("leaves: ", "depth: "), FILE, "depth", "has no hyperpara"),
    ],
)
def test_what_is_wrong_with_it_is_said_at_its_place(loaded, text, file, place, problem):
    with pytest.raises(FileError) as refused:
        loaded(text, file)
    assert place in str(refused.value)
    assert problem in str(refused.value)


@pytest.mark.parametrize("text", [BOOSTING, SEARCHED])
@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("workers: 2", "which runs in one process"),
        ("parameter_servers: {}", "which knows of no servers"),
        ("reduction_servers: {count: 1}", "which knows of no servers"),
    ],
)
def test_machines_that_its_fit_does_not_know_of_are_refused(loaded, text, kind, problem):
    with pytest.raises(FileError, match=f"has a function fit, {problem}"):
        loaded(on_machines(text, kind))


@pytest.mark.parametrize("text", [BOOSTING, SEARCHED])
def test_one_that_says_so_trains_on_several_workers_and_on_no_servers(loaded, text):
    """In the plan's configuration, too; a network beside it reads a shard on each."""
    several = f"SEVERAL_WORKERS = True\n{FILE}"
    experiment = loaded(on_machines(text, "workers: 2"), several)
    assert experiment.own_models["gradient_boosting.py"].declaration.several_workers
    with pytest.raises(FileError, match="shards: got 4 for 5 workers"):
        loaded(on_machines(text, "workers: 5"), several)
    with pytest.raises(FileError, match="which knows of no servers"):
        loaded(on_machines(text, "workers: 2, parameter_servers: {}"), several)


def test_what_its_fit_reads_it_divides_by_itself(loaded):
    alone = BOOSTING.replace(
        "other_models:\n  dense: {hyperparameters: {units: 32, learning_rate: 0.01}}\n", ""
    )
    assert alone != BOOSTING
    text = on_machines(alone, "workers: 5")
    assert loaded(text, f"SEVERAL_WORKERS = True\n{FILE}").train.machines.workers == 5


def on_machines(text, machines):
    """The experiment with other machines for its trainings."""
    before = "# at most, of the trees and of the network\n  machines: {type: n1-standard-4, "
    assert f"{before}spot: true" in text
    text = text.replace(f"{before}spot: true", before + machines)
    return text.replace("  label: malignant\n", "  label: malignant\n  shards: 4\n")


def test_a_file_may_call_a_hyperparameter_as_another_model_does(loaded):
    """What it declares is about itself alone."""
    file = FILE.replace('"leaves"', '"units"').replace(
        "hyperparameters.leaves", "hyperparameters.units"
    )
    experiment = loaded(BOOSTING.replace("leaves: ", "units:"), file)
    catalog = catalog_of(experiment)
    assert catalog.of_model("gradient_boosting.py")["units"].schema["maximum"] == 255
    assert catalog.of_model("dense")["units"].schema["maximum"] == 4096


def test_nothing_of_networks_is_asked_of_a_file_with_fit(loaded):
    """Neither a batch of at most the train split's examples, nor classes in its class_weights."""
    file = FILE.replace('"leaves"', '"class_weights"').replace(".leaves", ".class_weights")
    experiment = loaded(BOOSTING.replace("leaves: ", "class_weights:"), file)
    assert list(experiment.networks) == ["dense"]
    assert unknown_classes(experiment, ["0", "1"]) is None
