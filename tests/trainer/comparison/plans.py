"""A plan.json in memory, of which tests look at the dataset alone."""

from tests.trainer.conftest import OF_MANIFEST
from trellis_contracts.plan import PlanFile, PlannedDataset, Reuse


def plan_of(dataset_uri):
    return PlanFile(
        experiment="cells",
        description="",
        run="gs://b/cells/runs/manual/",
        run_id="manual",
        created="2026-01-01T00:00:00+00:00",
        data_interval={"start": None, "end": None},
        configuration={"tune": {"search": {}}, "train": {"epochs": 3}},
        model_files={},
        image_files={},
        dataset=PlannedDataset(dataset_uri, "f00d", False, "", "SELECT 1", None, None, None, None),
        table=OF_MANIFEST,
        baselines=(),
        jobs=dict.fromkeys(("dataflow", "tuning", "custom", "automl", "batch"), 0),
        rates={"training": 0.44},
        cost={
            "at_most_usd": 1.0,
            "stages": {},
            "assumptions": "",
            "query_bytes": 0,
            "serving": None,
        },
        reuse=Reuse(),
    )
