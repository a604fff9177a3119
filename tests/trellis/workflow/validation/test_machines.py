"""Machine types and accelerators: what Vertex AI takes, and what it refuses."""

import pytest

from local_gcp.vertex import machines as local_gcp
from tests.wording import says
from trellis.workflow.pricing import machines
from trellis.workflow.spec.machines import Machine
from trellis.workflow.validation.machines import machine_problems


def problems(use, type_, gpu=None, gpus=1):
    machine = Machine(type=type_, gpu=gpu, gpus=gpus)
    return [str(problem) for problem in machine_problems(machine, ("machines",), use)]


@pytest.mark.parametrize(
    ("use", "machine"),
    [
        ("training", ("n1-highmem-2", "NVIDIA_TESLA_T4", 4)),
        ("training", ("n1-standard-16", "NVIDIA_TESLA_V100", 2)),
        ("training", ("n1-standard-96", "NVIDIA_TESLA_V100", 8)),
        ("training", ("g2-standard-32", "NVIDIA_L4", 1)),
        ("training", ("g2-standard-96", "NVIDIA_L4", 8)),
        ("training", ("a2-highgpu-4g", "NVIDIA_TESLA_A100", 4)),
        ("training", ("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1)),
        ("training", ("a3-highgpu-8g", "NVIDIA_H100_80GB", 8)),
        ("serving", ("c3-highcpu-4",)),
        ("training", ("n1-highcpu-64", "NVIDIA_TESLA_P100", 4)),
        ("training", ("g4-standard-96", "NVIDIA_RTX_PRO_6000", 2)),
        ("training", ("n4-standard-4",)),
        ("serving", ("n1-highcpu-2",)),
    ],
)
def test_what_vertex_ai_offers_is_accepted(use, machine):
    assert problems(use, *machine) == []


@pytest.mark.parametrize(
    ("use", "machine", "said"),
    [
        (
            "training",
            ("foo-bar-9",),
            ("machines.type", "'foo-bar-9'", "a2, a3"),
        ),
        ("training", ("n1-standard-5",), "no known machine type; did you mean 'n1-standard-"),
        ("training", ("n1-standard-2",), "'n1-standard-2' is no machine type for training; did"),
        ("training", ("c3-standard-4",), "'c3-standard-4' is no known machine type; known series"),
        ("serving", ("n1-standard-96",), "'n1-standard-96' is no machine type for serving"),
        (
            "training",
            ("n1-standard-4", "NVIDIA_TESLA_V100", 3),
            ("n1-standard-4", "NVIDIA_TESLA_V100"),
        ),
        (
            "training",
            ("n1-highmem-2", "NVIDIA_TESLA_T4", 16),
            "n1-highmem-2 cannot have 16 NVIDIA_TESLA_T4; expected 1, 2, 4",
        ),
        (
            "serving",
            ("n1-standard-32", "NVIDIA_TESLA_T4", 1),
            "n1-standard-32 cannot have 1 NVIDIA_TESLA_T4; expected 2, 4",
        ),
        ("serving", ("c4-standard-8",), "'c4-standard-8' is no known machine type; known series"),
        ("training", ("c3-highcpu-4",), "'c3-highcpu-4' is no machine type for training"),
        ("training", ("n1-standard-64", "NVIDIA_TESLA_P100", 4), "use a smaller machine"),
        ("training", ("e2-standard-4", "NVIDIA_TESLA_T4", 1), "T4 goes with n1 machines, not e2-"),
        ("training", ("n1-standard-8", "NVIDIA_L4", 1), "NVIDIA_L4 is part of g2-standard-4, g2"),
        ("training", ("g2-standard-24",), "write `gpu: NVIDIA_L4, gpus: 2`"),
        ("training", ("g2-standard-24", "NVIDIA_L4", 1), "comes with 2 NVIDIA_L4"),
        ("training", ("a3-highgpu-8g", "NVIDIA_L4", 8), "comes with 8 NVIDIA_H100_80GB"),
        ("training", ("n1-standard-4", "NVIDIA_H200", 1), "machines.gpu: unknown accelerator"),
    ],
)
def test_what_vertex_ai_refuses_is_refused_with_what_fits(use, machine, said):
    (problem,) = problems(use, *machine)
    assert says(problem, said)


@pytest.mark.parametrize("use", ["training", "serving"])
def test_local_gcp_takes_the_same_machines(use):
    """It has a table of its own, as it shares no code with the workflow."""
    table = machines.table()
    for type_ in [*table.types, "foo-bar-9"]:
        assert_same(use, type_, None, 1)
        for gpu in table.gpus:
            for count in (1, 2, 3, 4, 6, 8, 16):
                assert_same(use, type_, gpu, count)


def assert_same(use, type_, gpu, count):
    emulated = local_gcp.problem(type_, gpu or "", count if gpu else 0, serving=use == "serving")
    ours = problems(use, type_, gpu, count)
    fixed = machines.table().types.get(type_, None)
    if fixed and fixed.gpu and (gpu is None or use == "serving"):
        # Stricter here: all accelerators are named, and replicas share no machine.
        assert ours or not emulated
    else:
        assert bool(ours) == bool(emulated), (type_, gpu, count, ours, emulated)
