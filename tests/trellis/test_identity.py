import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis.identity import KEY_LABEL, ROUND_LABEL, job_labels, label_value, task_key

pytestmark = pytest.mark.one_airflow

# https://cloud.google.com/vertex-ai/docs/general/labels
LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


@dataclass
class Task:
    """The fields of an Airflow task instance that identity reads."""

    dag_id: str = "digits"
    run_id: str = "manual__2025-01-01T00:00:00+00:00"
    task_id: str = "train"
    map_index: int = -1
    max_tries: int = 3


def test_a_text_that_is_a_label_stays_as_it_is():
    assert label_value("scheduled-run_2") == "scheduled-run_2"


def test_a_run_id_becomes_readable():
    value = label_value("manual__2025-01-01T00:00:00+00:00")
    assert value.startswith("manual__2025-01-01t00-00-00-00-00-")


@given(st.text())
def test_every_text_becomes_a_label_value(text):
    assert LABEL_VALUE.fullmatch(label_value(text))


@given(st.text(), st.text())
def test_different_texts_become_different_values(one, other):
    assert (label_value(one) == label_value(other)) == (one == other)


@given(st.builds(Task, run_id=st.text(), dag_id=st.text(), task_id=st.text()))
def test_labels_are_labels(task):
    for key, value in job_labels(task, generation=1).items():
        assert LABEL_KEY.fullmatch(key)
        assert LABEL_VALUE.fullmatch(value)


def test_every_part_of_the_identity_makes_another_key():
    keys = {
        task_key("d", "r", "t", -1, 1),
        task_key("e", "r", "t", -1, 1),
        task_key("d", "s", "t", -1, 1),
        task_key("d", "r", "u", -1, 1),
        task_key("d", "r", "t", 0, 1),
        task_key("d", "r", "t", -1, 2),
    }
    assert len(keys) == 6


def test_a_cleared_task_keeps_its_key_and_starts_another_round():
    first, cleared = job_labels(Task(), 1), job_labels(Task(max_tries=7), 1)
    assert first[KEY_LABEL] == cleared[KEY_LABEL]
    assert first[ROUND_LABEL] != cleared[ROUND_LABEL]
