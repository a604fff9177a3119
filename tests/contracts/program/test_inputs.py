"""Flags and variables as a program reads them."""

from pathlib import Path

import pytest

from trellis_contracts.program import inputs, terms

GIVEN = ["--dataset=gs://b/d/", "--task=regression", "--metric=rmse", "--epochs=2", "--seed=7"]


def test_what_is_no_flag_of_the_contract_is_a_hyperparameter():
    job = inputs.job([*GIVEN, "--outputs=all", "--depth=3", "--rate", "1e-3"])
    assert (job.epochs, job.seed, job.whole) == (2, 7, True)
    assert job.hyperparameters == {"depth": "3", "rate": "1e-3"}


def test_missing_flags_and_words_are_named():
    with pytest.raises(ValueError, match="--outputs"):
        inputs.job(GIVEN)
    with pytest.raises(ValueError, match="'here' is no flag"):
        inputs.job([*GIVEN, "here"])


def test_a_bucket_is_a_folder_where_it_is_mounted(monkeypatch):
    monkeypatch.delenv(terms.MOUNT, raising=False)
    assert inputs.path("gs://lab/a/b") == Path("/gcs/lab/a/b")
    monkeypatch.setenv(terms.MOUNT, "/here")
    assert inputs.path("gs://lab/a/b") == Path("/here/lab/a/b")
    monkeypatch.setenv(terms.OUTPUT, "gs://lab/runs/r/training/1/model/")
    job = inputs.job([*GIVEN, "--outputs=metrics"])
    assert job.output == Path("/here/lab/runs/r/training/1")
