import re

from hypothesis import example, given
from hypothesis import strategies as st

from trellis.workflow.contracts.layout import Run, dataset, dataset_mark, run_folder

RUN = Run("bucket", "digits", "demo")


def test_addresses_of_a_run():
    folder = "gs://bucket/digits/runs/demo"
    assert RUN.plan == f"{folder}/plan.json"
    assert RUN.tuning == f"{folder}/tuning/"
    assert RUN.trial_metrics("7") == f"{folder}/tuning/7/metrics.json"
    assert RUN.training(1) == f"{folder}/training/1/"
    assert RUN.leaderboard == f"{folder}/leaderboard/leaderboard.json"
    assert RUN.served == f"{folder}/served.json"
    assert RUN.challenger == f"{folder}/leaderboard/challenger.json"
    assert RUN.deployment == f"{folder}/deployment.json"
    mark = dataset_mark(dataset("bucket", "digits", "3f2a"))
    assert mark == "gs://bucket/digits/datasets/3f2a/dataset.json"


def test_a_run_id_that_can_be_a_folder_is_the_folder():
    assert run_folder("demo__2025-01-01T00-00-00") == "demo__2025-01-01T00-00-00"


def test_a_run_id_of_airflow_stays_readable():
    folder = run_folder("scheduled__2025-01-01T00:00:00+00:00")
    assert re.fullmatch(r"scheduled__2025-01-01T00-00-00-00-00-[0-9a-f]{8}", folder)


@given(st.text(min_size=1), st.integers(1, 5))
def test_every_run_id_becomes_one_folder(run_id, generation):
    folder = run_folder(run_id, generation)
    assert re.fullmatch(r"[A-Za-z0-9_.~-]{1,110}", folder)
    assert folder.strip(".") == folder
    assert run_folder(run_id, generation) == folder


@given(st.text(), st.text(), st.integers(1, 3), st.integers(1, 3))
@example("a", "a-2", 2, 1)
@example("a", "a.2", 2, 1)
@example("a:b", "a-b", 1, 1)
def test_two_runs_never_share_a_folder(one, other, first, second):
    same = run_folder(one, first) == run_folder(other, second)
    assert same == ((one, first) == (other, second))
