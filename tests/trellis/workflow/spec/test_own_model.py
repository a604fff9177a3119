"""An experiment with a model of its own: read without executing it, planned by its content."""

import hashlib

import pytest

from tests.trellis.workflow.plans import a_plan
from tests.trellis.workflow.spec.files import GOOD
from tests.wording import says
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import from_file
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages import choose, job_messages, train, tune
from trellis.workflow.validation.file import load, with_changes
from trellis_contracts import documents
from trellis_contracts.plan import PlanFile

MODEL = '''"""Two towers."""
import tensorflow as tf  # not there on Airflow's side

raise SystemExit("executed")

HYPERPARAMETERS = {
    "width": {"default": 32, "minimum": 8, "maximum": 512, "description": "units"},
    "gate": {"default": "relu", "enum": ["relu", "gelu"], "description": "activation"},
}

def build(dataset, hyperparameters): ...

def loss(labels, outputs, hyperparameters): ...
'''

OWN = GOOD.replace("model: dense", "model: towers.py").replace(
    "    layers: {from: 1, to: 4}\n",
    "    width: {from: 16, to: 64}\n    gate: {choose: [relu, gelu]}\n",
)
RUN = layout.Run("lab", "mine", "demo")


@pytest.fixture
def write(tmp_path):
    """A function: text of the experiment, of its model -> the experiment's path."""

    def write(experiment=OWN, model=MODEL):
        (tmp_path / "mine.yaml").write_text(experiment)
        (tmp_path / "towers.py").write_text(model)
        return tmp_path / "mine.yaml"

    return write


def problems(path):
    with pytest.raises(FileError) as refused:
        load(path)
    return "\n".join(map(str, refused.value.problems))


def test_its_hyperparameters_are_searched_as_the_trainers_own(write):
    experiment = load(write())
    study = tune.study(experiment)
    _, width, gate, _ = study["parameters"]
    assert width["integer_value_spec"] == {"min_value": 16, "max_value": 64}
    assert gate["categorical_value_spec"] == {"values": ["relu", "gelu"]}
    final = {"step": 1, "metrics": {"accuracy": 0.5}}
    trial = {"id": "1", "state": "SUCCEEDED", "parameters": {"width": 16.0}, "final": final}
    ranked = choose.rank(
        {"name": "job", "trials": [{**trial, "start": None, "end": None}]}, experiment, {}
    )
    assert ranked.chosen[0].parameters == {"width": 16}
    assert isinstance(ranked.chosen[0].parameters["width"], int)


def test_the_plan_names_the_content_and_later_stages_need_no_file(write, group):
    path = write()
    plan = a_plan(with_changes(load(path), {("tune", "trials"): 5}), RUN)
    digest = hashlib.sha256(MODEL.encode()).hexdigest()
    content = plan.file().to_document()
    documents.check("plan", content, "plan.json")
    (path.parent / "towers.py").unlink()
    again = from_file(PlanFile.from_document(content), RUN)
    assert again.experiment.own_model == plan.experiment.own_model
    assert again.file().to_document() == content
    arguments = job_messages.training_arguments(again, 3, "all", {"width": 16})
    assert f"--model=gs://lab/mine/models/{digest}/towers.py" in arguments
    assert f"--model_sha256={digest}" in arguments
    assert "--width=16" in arguments
    chosen = {"rank": 1, "trial": "1", "parameters": {"width": 16}}
    assert train.job(again, group, chosen)["job_spec"]["worker_pool_specs"]


@pytest.mark.parametrize(
    ("experiment", "problem"),
    [
        (OWN.replace("to: 64", "to: 1000"), "line 16, tune.search.width.to: got 1000; expected"),
        (
            OWN.replace("width:", "widht:"),
            ("'towers.py'", "'widht'", "'width'"),
        ),
        (OWN.replace("width:", "layers:"), ("'towers.py'", "'layers'")),
        (
            OWN.replace("train:", "hyperparameters: {label_smoothing: 0.1}\ntrain:"),
            "has no hyperparameter 'label_smoothing'",
        ),
        (OWN.replace("towers.py", "tower.py"), "tower.py cannot be read: No such file"),
        (OWN.replace("towers.py", "../towers.py"), "line 8, model: got '../towers.py'; a model's"),
    ],
)
def test_an_experiment_that_does_not_fit_its_model(write, experiment, problem):
    assert says(problems(write(experiment)), problem)


def test_a_wrong_file_is_told_with_its_own_lines(write):
    wrong = MODEL.replace('"default": 32', '"default": WIDE').replace("def build", "def built")
    found = problems(write(model=wrong))
    assert says(found, "line 8, model: towers.py, line 1: ", "`def build(")
    assert says(found, "line 8, model: towers.py, line 7: width: ", "WIDE")


def test_a_model_of_rows_is_not_for_images(write):
    text = MODEL.replace("def build", 'INPUTS = ["table"]\n\ndef build')
    assert says(problems(write(model=text)), "line 8, model: towers.py", "images")


FIT = "def fit(data, hyperparameters, report): ...\ndef load(folder): ...\n"
BESIDE = GOOD.replace("model: dense\n", "model: dense\nother_models: {towers.py: {}}\n")


def test_a_file_among_the_other_models_is_in_the_plan_and_in_its_own_jobs(write):
    experiment = load(write(BESIDE, FIT))
    plan = a_plan(experiment, RUN)
    content = plan.file().to_document()
    documents.check("plan", content, "plan.json")
    again = from_file(PlanFile.from_document(content), RUN)
    assert again.experiment.own_models == experiment.own_models
    digest = hashlib.sha256(FIT.encode()).hexdigest()
    address = f"gs://lab/mine/models/{digest}/towers.py"
    assert content["model_files"]["towers.py"]["uri"] == address
    own = job_messages.training_arguments(again.of("towers.py"), 3, "all", {})
    assert {f"--model={address}", f"--model_sha256={digest}"} < set(own)
    first = job_messages.training_arguments(again.of(None), 3, "all", {})
    assert "--model=dense" in first
    assert not any(flag.startswith("--model_sha256") for flag in first)
