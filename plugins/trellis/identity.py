"""Assigns jobs in the cloud to Airflow's tasks, by labels.

The call that creates a job is not idempotent, and its caller may die before it has recorded the
response. So the job itself carries its task's identity in labels, and every attempt of a task looks
for its job before it creates one.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

# Google's limit for label keys and values: 63 characters of a-z, 0-9, _ and -.
# https://cloud.google.com/vertex-ai/docs/general/labels
MAX_LENGTH = 63
_DIGEST_LENGTH = 8

KEY_LABEL = "airflow-key"
ROUND_LABEL = "airflow-round"
EXPERIMENT_LABEL = "trellis-experiment"
"""The owner of what outlives a run (a model, an endpoint). Without it, it is someone else's."""


def label_value(text: str) -> str:
    """`text` as a label value: unchanged if valid, else a readable part of it and a digest.

    Two different texts give two different values (up to a collision in 32 bits of SHA-256).
    """
    cleaned = re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")
    if cleaned == text and len(text) <= MAX_LENGTH:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{cleaned[: MAX_LENGTH - _DIGEST_LENGTH - 1]}-{digest}".lstrip("-")


def task_key(dag_id: str, run_id: str, task_id: str, map_index: int, generation: int | str) -> str:
    """The one label that a job is looked up by: 32 hexadecimal digits, different for every task.

    `generation` is a number or text; another value gives a new job where the task would otherwise
    adopt the existing one.
    """
    identity = "\n".join([dag_id, run_id, task_id, str(map_index), str(generation)])
    return hashlib.sha256(identity.encode()).hexdigest()[:32]


def same_round(job: Mapping[str, str] | None, labels: Mapping[str, str]) -> bool:
    """Return whether the job with the labels `job` is of the task and round of `labels`.

    Tasks of several runs may share the work of one job, each within the figure of its own plan.
    """
    return all((job or {}).get(name) == labels[name] for name in (KEY_LABEL, ROUND_LABEL))


def job_labels(ti: Any, generation: int | str) -> dict[str, str]:
    """The labels of the job that belongs to the task instance `ti`.

    All but two are for people and for the billing export. `airflow-key` identifies the task;
    `airflow-round` counts how often a person cleared it (`max_tries` changes then, and only then),
    to distinguish it from automatic retries.
    """
    return {
        KEY_LABEL: task_key(ti.dag_id, ti.run_id, ti.task_id, ti.map_index, generation),
        ROUND_LABEL: str(ti.max_tries),
        "airflow-dag": label_value(ti.dag_id),
        "airflow-run": label_value(ti.run_id),
        "airflow-task": label_value(ti.task_id),
        "airflow-map-index": str(ti.map_index) if ti.map_index >= 0 else "none",
        "airflow-generation": str(generation),
    }
