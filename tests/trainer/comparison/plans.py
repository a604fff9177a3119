"""A plan.json in memory, of which tests look at the dataset alone."""

from trainer.comparison.run_folder import Plan


def plan_of(dataset_uri):
    return Plan.of(
        {
            "experiment": "cells",
            "run_id": "manual",
            "created": "2026-01-01T00:00:00+00:00",
            "data_interval": {"start": None, "end": None},
            "configuration": {"tune": {"search": {}}, "train": {"epochs": 3}},
            "model_file": None,
            "dataset": {"uri": dataset_uri, "fingerprint": "f00d", "previous": None},
            "baselines": [],
            "rates": {"training": 0.44},
            "reuse": {"steps": {}},
        }
    )
