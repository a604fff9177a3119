"""Images that know nothing of Trellis: what an experiment may ask of them, and their jobs."""

import pytest

from tests.airflow_side import ROOT
from tests.trellis.workflow.plans import a_plan
from trellis.workflow.contracts import layout
from trellis.workflow.spec import job_images, own_image
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages import job_messages
from trellis.workflow.validation.file import load, with_changes

NEIGHBOURS = (ROOT / "dags/experiments/neighbours.yaml").read_text()
FILE = (ROOT / "dags/experiments/neighbours.py").read_text()
MACHINES = "epochs: 1\n  machines: {type: n1-standard-4, spot: true}\n  timeout: 30 minutes\n\nb"
TWO = (MACHINES, MACHINES.replace("spot: true", "workers: 2"))
ADDRESS = "europe-west4-docker.pkg.dev/my-project/programs/neighbours:1"


@pytest.fixture
def loaded(tmp_path):
    """A function: replacements in the example's text, its model's file -> the experiment."""

    def load_(*replaced, file=FILE):
        text = NEIGHBOURS
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "neighbours.py").write_text(file)
        (tmp_path / "cells.yaml").write_text(text)
        return load(tmp_path / "cells.yaml")

    return load_


def test_only_what_trains_and_serves_is_theirs(loaded, group):
    experiment = loaded()
    assert experiment.foreign
    assert job_images.of_jobs(experiment, group, gpu=False) == ADDRESS
    assert job_images.of_server(experiment, group, gpu=False) == ADDRESS
    ours = job_images.of_jobs(experiment, group, gpu=False, command="compare")
    assert ours.startswith(f"{group.registry}/trainer:")
    assert {ADDRESS, ours} <= {*job_images.of_experiment(experiment, group)}
    assert with_changes(experiment, {("seed",): 3}).foreign


def test_a_program_is_given_every_hyperparameter_once(loaded):
    """By the tuner, as the file fixes it, or by its default."""
    searched = {"neighbours": {"from": 3, "to": 60}}
    changes = {("hyperparameters",): {"power": 2.0}, ("tune", "search"): searched}
    experiment = with_changes(loaded(), changes)
    plan = a_plan(experiment, layout.Run("b", experiment.name, "run"))

    def flags(outputs, **values):
        arguments = job_messages.training_arguments(plan, 1, outputs, values)
        return [one for one in arguments if one.startswith(("--power", "--neighbours"))]

    assert flags("metrics") == ["--power=2.0"]
    assert flags("all", neighbours=9) == ["--neighbours=9", "--power=2.0"]
    alone = with_changes(experiment, {("tune",): None, ("train", "maximize"): "auc"})
    plan = a_plan(alone, layout.Run("b", alone.name, "run"))
    assert flags("all") == ["--neighbours=15", "--power=2.0"]


@pytest.mark.parametrize(
    ("replaced", "place"),
    [
        ((f"image: {ADDRESS}", "image: europe-docker.pkg.dev/lab/programs/other"), "image"),
        ((f"image: {ADDRESS}\n", ""), "program"),
        (("model: neighbours.py", "model: dense"), "model"),
        (("task: binary", "calibrate: temperature\ntask: binary"), "calibrate"),
        (("task: binary", "abstain: 0.1\ntask: binary"), "abstain"),
        (("task: binary", "coverage: 0.9\ntask: binary"), "coverage"),
        (("task: binary", "serve_image: serve2/x\ntask: binary"), "serve_image"),
        (("train:\n  epochs: 1", "train:\n  epochs: 1\n  ensemble: true\n  seeds: 2"), "ensemble"),
        (("train:\n  epochs: 1", "train:\n  epochs: 1\n  start: champion"), "train.start"),
        (TWO, "train.machines.workers"),
    ],
)
def test_what_only_ours_can_do_is_refused_by_its_key(loaded, replaced, place):
    file = FILE if place != "program" else f"{FILE}\ndef build(dataset, hyperparameters): ...\n"
    with pytest.raises(FileError) as refused:
        loaded(replaced, file=file)
    assert place in str(refused.value)


OF_TIMES = (
    ("task: binary_classification", "task: time_to_event"),
    ("label: malignant", "label: {time: days, event: died, horizons: [365]}"),
    ("maximize: auc", "maximize: concordance"),
    ("baselines:\n  bqml: [logistic_reg]\n", ""),
    ("{auc: 0.95}", "{concordance: 0.6, horizon_auc@365: 0.6}"),
    ("  truth: SELECT sample_id, malignant FROM research.breast_cancer", ""),
)


def test_a_program_learns_times_to_an_event(loaded):
    experiment = loaded(*OF_TIMES)
    assert experiment.foreign
    assert experiment.task == "time_to_event"


def test_sets_of_classes_and_masks_are_refused_with_the_reason(tmp_path, loaded):
    """Each reason is that of the task's entry."""
    sets = ("task: binary_classification", "task: multilabel_classification")
    with pytest.raises(FileError, match=r"learns it: .* has no form for sets of classes"):
        loaded(sets)
    text = NEIGHBOURS[: NEIGHBOURS.index("tune:")].replace(
        *("binary_classification", "segmentation")
    )
    old = text[text.index("source:") : text.index("model:")]
    text = text.replace(old, "source: {images: m.csv, size: 64, masks: [background, cell]}\n")
    (tmp_path / "cells.yaml").write_text(f"{text}train: {{maximize: dice, epochs: 1}}\n")
    with pytest.raises(FileError, match=r"learns it: .* has no form for masks, which are files"):
        load(tmp_path / "cells.yaml")


def test_a_program_whose_file_says_so_trains_on_several_workers_and_on_no_servers(loaded):
    several = f"SEVERAL_WORKERS = True\n{FILE}"
    assert loaded(TWO, file=several).train.machines.workers == 2
    with_servers = TWO[1].replace("workers: 2", "workers: 2, parameter_servers: {}")
    with pytest.raises(FileError, match="has its own program, which knows of no servers"):
        loaded((MACHINES, with_servers), file=several)


def test_its_file_declares_and_defines_nothing(loaded):
    with pytest.raises(FileError, match=r"fit is not called"):
        loaded(file=f"{FILE}\ndef fit(data, hyperparameters, report): ...\n")


@pytest.mark.parametrize(
    ("address", "good"),
    [
        (ADDRESS, True),
        (f"ghcr.io/lab/x@sha256:{'0' * 64}", True),
        ("localhost:5000/x:latest", True),
        ("ghcr.io/lab/x", False),
        ("ghcr.io/Lab/x:1", False),
        ("ghcr.io/lab/x:1 --privileged", False),
    ],
)
def test_an_address_is_whole_and_has_a_tag_or_a_digest(tmp_path, address, good):
    assert own_image.is_address(address)
    sha256, wrong = own_image.read(tmp_path, address)
    assert (sha256 == "", wrong == "") == (good, good)
