"""The machine types of Vertex AI, with the types and numbers of their accelerators.

From the pages "Configure compute resources" of 2026, of training and of predictions:
https://docs.cloud.google.com/gemini-enterprise-agent-platform/machine-learning/training/configure-compute
The messages for an unsupported accelerator, and for a type without a count, are those that users of
Vertex AI have quoted in public; the others are local_gcp's.
"""

from __future__ import annotations

_ACCELERATED = {
    "a2-highgpu": ("1g", "2g", "4g", "8g"),
    "a2-megagpu": ("16g",),
    "a2-ultragpu": ("1g", "2g", "4g", "8g"),
    "a3-highgpu": ("1g", "2g", "4g", "8g"),
    "a3-megagpu": ("8g",),
    "a3-ultragpu": ("8g",),
    "a4-highgpu": ("8g",),
    "g2-standard": (4, 8, 12, 16, 24, 32, 48, 96),
    "g4-standard": (48, 96, 192, 384),
}
_FIXED = {
    "a2-highgpu": "NVIDIA_TESLA_A100",
    "a2-megagpu": "NVIDIA_TESLA_A100",
    "a2-ultragpu": "NVIDIA_A100_80GB",
    "a3-highgpu": "NVIDIA_H100_80GB",
    "a3-megagpu": "NVIDIA_H100_MEGA_80GB",
    "a3-ultragpu": "NVIDIA_H200_141GB",
    "a4-highgpu": "NVIDIA_B200",
    "g2-standard": "NVIDIA_L4",
    "g4-standard": "NVIDIA_RTX_PRO_6000",
}
_KINDS = ("highcpu", "highmem", "standard")

TRAINING = {
    **_ACCELERATED,
    "c2-standard": (4, 8, 16, 30, 60),
    "e2-highcpu": (16, 32),
    "e2-highmem": (2, 4, 8, 16),
    "e2-standard": (4, 8, 16, 32),
    "m1-megamem": (96,),
    "m1-ultramem": (40, 80, 160),
    "n1-highcpu": (16, 32, 64, 96),
    "n1-highmem": (2, 4, 8, 16, 32, 64, 96),
    "n1-standard": (4, 8, 16, 32, 64, 96),
    "n2-highcpu": (16, 32, 48, 64, 80),
    "n2-highmem": (2, 4, 8, 16, 32, 48, 64, 80),
    "n2-standard": (4, 8, 16, 32, 48, 64, 80),
    **{f"n4-{kind}": (2, 4, 8, 16, 32, 48, 64, 80) for kind in _KINDS},
}
"""Sizes of machines for training, by series and kind. Those of which an order has a minimum, as
a4x, are missing."""

SERVING = {
    **_ACCELERATED,
    "c2-standard": (4, 8, 16, 30, 60),
    **{f"c2d-{kind}": (2, 4, 8, 16, 32, 56, 112) for kind in _KINDS},
    "c3-highcpu": (4, 8, 22, 44, 88, 176),
    "e2-highcpu": (2, 4, 8, 16, 32),
    "e2-highmem": (2, 4, 8, 16),
    "e2-standard": (2, 4, 8, 16, 32),
    **{f"n1-{kind}": (2, 4, 8, 16, 32) for kind in _KINDS},
    "n2-highcpu": (2, 4, 8, 16, 32, 48, 64, 80, 96),
    "n2-highmem": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128),
    "n2-standard": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128),
    "n2d-highcpu": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224),
    "n2d-highmem": (2, 4, 8, 16, 32, 48, 64, 80, 96),
    "n2d-standard": (2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 224),
}
"""Sizes of machines for deployed models and batch predictions."""

_P100 = "NVIDIA_TESLA_P100"
ATTACHABLE = {
    "NVIDIA_TESLA_P4": {1: 24, 2: 48, 4: 96},
    _P100: {1: 16, 2: 32, 4: 64},
    "NVIDIA_TESLA_T4": {1: 24, 2: 48, 4: 96},
    "NVIDIA_TESLA_V100": {1: 12, 2: 24, 4: 48, 8: 96},
}
"""Accelerators of n1 machines: the most vCPUs of a machine by their number."""


def problem(machine_type: str, gpu: str, count: int, serving: bool) -> tuple[str, str] | None:
    """The field and message of Vertex AI's error for a machine, or None.

    gpu, count: "" and 0 without accelerators.
    """
    kind, _, size = machine_type.rpartition("-")
    known = SERVING if serving else TRAINING
    if size not in map(str, known.get(kind, ())):
        return "machine_type", f'Machine type "{machine_type}" is not supported.'
    if bool(gpu) != (count > 0):
        both = "Both `accelerator_type` and `accelerator_count` should be specified or none."
        return "accelerator_type", both
    if kind in _FIXED:
        return _fixed(machine_type, gpu, count, serving)
    if not gpu:
        return None
    limits = ATTACHABLE.get(gpu)
    if limits is None or not kind.startswith("n1-"):
        message = f'Accelerator "{gpu}" is not supported for machine type "{machine_type}".'
        return "accelerator_type", message
    fitting = [n for n, most in limits.items() if int(size) <= most]
    if gpu == _P100 and int(size) == 64 and kind != "n1-highcpu":
        fitting = []  # four P100 go with 208 GB of memory at most
    return _count(machine_type, gpu, count, fitting)


def _fixed(machine_type: str, gpu: str, count: int, serving: bool) -> tuple[str, str] | None:
    """An accelerator-optimized machine has fixed accelerators, which only models can share."""
    kind, _, size = machine_type.rpartition("-")
    if not gpu:
        message = f'Machine type "{machine_type}" needs its accelerator, "{_FIXED[kind]}".'
        return "accelerator_type", message
    if gpu != _FIXED[kind]:
        message = f'Accelerator "{gpu}" is not supported for machine type "{machine_type}".'
        return "accelerator_type", message
    if kind == "g2-standard":
        has = {24: 2, 48: 4, 96: 8}.get(int(size), 1)
    elif kind == "g4-standard":
        has = int(size) // 48
    else:
        has = int(size.rstrip("g"))
    return _count(machine_type, gpu, count, list(range(1, has + 1)) if serving else [has])


def _count(machine_type: str, gpu: str, count: int, known: list[int]) -> tuple[str, str] | None:
    if count in known:
        return None
    return "accelerator_count", (
        f'{count} accelerators of type "{gpu}" are not supported for machine type '
        f'"{machine_type}"; supported: {", ".join(map(str, known)) or "none"}.'
    )
