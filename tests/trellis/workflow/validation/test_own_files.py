"""Models' own files among an experiment's models: `model`, and any of `other_models`."""

import pytest

from tests.airflow_side import ROOT
from trellis.workflow.spec import job_images
from trellis.workflow.spec.problems import FileError
from trellis.workflow.validation.file import catalog_of, known_to, load
from trellis.workflow.validation.group import unknown_classes

FOREST = (ROOT / "dags/experiments/forest.yaml").read_text()
FILE = (ROOT / "dags/experiments/forest.py").read_text()
BESIDE = FOREST.replace("model: forest.py", "model: dense").replace(
    "hyperparameters: {trees: 100}\n", ""
)
BESIDE = BESIDE.replace("    features: {from: 0.05, to: 0.6}\n", "").replace(
    "leaf:     {from: 1, to: 8}", "units: {choose: [16, 32]}"
)
SEARCHED = BESIDE.replace(
    "dense: {hyperparameters: {units: 32, learning_rate: 0.01}}",
    "forest.py: {search: {leaf: {from: 1, to: 8}}}",
)


@pytest.fixture
def loaded(tmp_path):
    """A function: an experiment's text, a file's -> the experiment."""

    def load_(text, file=FILE):
        (tmp_path / "experiments").mkdir(exist_ok=True)
        (tmp_path / "experiments/forest.py").write_text(file)
        path = tmp_path / "experiments/cells.yaml"
        path.write_text(text)
        return load(path)

    return load_


def test_a_file_is_one_of_the_other_models(loaded, group):
    experiment = loaded(SEARCHED)
    assert experiment.own_model is None
    forest = experiment.of("forest.py")
    assert forest.own_model.name == "forest.py"
    assert set(known_to(forest)) == {"trees", "features", "leaf"}
    for one in (experiment, forest):
        assert "/trainer:" in job_images.of_server(one, group, gpu=False)


@pytest.mark.parametrize(
    ("text", "file", "place", "problem"),
    [
        (SEARCHED.replace("leaf:", "leafs:"), FILE, "search.leafs", "did you mean 'leaf'"),
        (SEARCHED.replace("from: 1, to: 8", "from: 1, to: 80"), FILE, "leaf.to", "from 1 to 50"),
        (SEARCHED, "def fit(data): ...\n", "other_models.forest.py", "line 1"),
        (SEARCHED, f"import torch\n{FILE}", "other_models.forest.py", "imports torch"),
        (FOREST.replace("leaf: ", "learning_rate: "), FILE, "learning_rate", "has no hyperpara"),
    ],
)
def test_what_is_wrong_with_it_is_said_at_its_place(loaded, text, file, place, problem):
    with pytest.raises(FileError) as refused:
        loaded(text, file)
    assert place in str(refused.value)
    assert problem in str(refused.value)


@pytest.mark.parametrize("text", [FOREST, SEARCHED])
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


@pytest.mark.parametrize("text", [FOREST, SEARCHED])
def test_one_that_says_so_trains_on_several_workers_and_on_no_servers(loaded, text):
    """In the plan's configuration, too; a network beside it reads a shard on each."""
    several = f"SEVERAL_WORKERS = True\n{FILE}"
    experiment = loaded(on_machines(text, "workers: 2"), several)
    assert experiment.own_models["forest.py"].declaration.several_workers
    with pytest.raises(FileError, match="shards: got 4 for 5 workers"):
        loaded(on_machines(text, "workers: 5"), several)
    with pytest.raises(FileError, match="which knows of no servers"):
        loaded(on_machines(text, "workers: 2, parameter_servers: {}"), several)


def test_what_its_fit_reads_it_divides_by_itself(loaded):
    alone = FOREST.replace(
        "other_models:\n  dense: {hyperparameters: {units: 32, learning_rate: 0.01}}\n", ""
    )
    assert alone != FOREST
    text = on_machines(alone, "workers: 5")
    assert loaded(text, f"SEVERAL_WORKERS = True\n{FILE}").train.machines.workers == 5


def on_machines(text, machines):
    """The experiment with other machines for its trainings."""
    before = "epochs: 40                      # of the network\n  machines: {type: n1-standard-4, "
    assert f"{before}spot: true" in text
    text = text.replace(f"{before}spot: true", before + machines)
    return text.replace("  label: malignant\n", "  label: malignant\n  shards: 4\n")


def test_a_file_may_call_a_hyperparameter_as_another_model_does(loaded):
    """What it declares is about itself alone."""
    file = FILE.replace('"leaf"', '"units"').replace(
        "hyperparameters.leaf", "hyperparameters.units"
    )
    experiment = loaded(FOREST.replace("leaf: ", "units:"), file)
    catalog = catalog_of(experiment)
    assert catalog.of_model("forest.py")["units"].schema["maximum"] == 50
    assert catalog.of_model("dense")["units"].schema["maximum"] == 4096


def test_nothing_of_networks_is_asked_of_a_file_with_fit(loaded):
    """Neither a batch of at most the train split's examples, nor classes in its class_weights."""
    file = FILE.replace('"leaf"', '"class_weights"').replace(".leaf", ".class_weights")
    experiment = loaded(FOREST.replace("leaf: ", "class_weights:"), file)
    assert list(experiment.networks) == ["dense"]
    assert unknown_classes(experiment, ["0", "1"]) is None
