"""Plans: of a source that is looked at, and without one."""

import datetime

from trellis.workflow.assembly.chain import STAGES
from trellis.workflow.contracts.plan import Plan
from trellis.workflow.contracts.run_params import run_params
from trellis.workflow.contracts.table import Column, resolve
from trellis.workflow.pricing import cost
from trellis.workflow.spec.source import ImageSource
from trellis.workflow.spec.split import TimeSplit
from trellis.workflow.stages import plan
from trellis_contracts.dataset import SPLITS, Counts, DatasetDescription, Shard, by_hash
from trellis_contracts.dataset_features import Feature
from trellis_contracts.plan import PlannedDataset

CREATED = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)


def conf_of(experiment, **conf):
    """A run's parameters: the experiment's, and what `conf` says."""
    return {name: param.value for name, param in run_params(experiment).items()} | conf


def plan_run(experiment, platform, run_id, interval=(None, None), **conf):
    """Plans a run as the task `plan` does: looks at the source, and writes plan.json."""
    values = conf_of(experiment, **conf)
    return plan.write(
        plan.decide(experiment, platform, STAGES, values, run_id, CREATED, interval), platform
    )


def a_table(experiment):
    """The columns of an experiment's source, as far as its file names them."""
    source = experiment.source
    types = {source.key_: "STRING", source.label: "STRING", "x": "FLOAT64", "rejected": "STRING"}
    types |= dict.fromkeys(source.image_columns, "STRING")
    types |= {name: "FLOAT64" for name in source.features or () if name not in types}
    if experiment.task == "regression":
        types[source.label] = "FLOAT64"
    decides = "TIMESTAMP" if isinstance(source.split, TimeSplit) else "STRING"
    others = {source.partition: "DATE", source.weight: "FLOAT64", source.split.decided_by: decides}
    types |= {name: type_ for name, type_ in others.items() if name not in (None, *types)}
    return resolve(experiment, "a source", [Column(*column) for column in types.items()])


def a_description(examples):
    """The digits' dataset with so many examples in each split."""
    counts = dict.fromkeys(SPLITS, Counts(examples, {"0": examples}))
    return DatasetDescription(
        fingerprint="3f2a",
        source={},
        split=by_hash([80, 10, 10]),
        features=(Feature("image", "image", "uint8", "png", (8, 8, 1), resize="stretch"),),
        classes=("0",),
        counts=counts,
        files={name: (Shard(f"{name}-00000-of-00001.tfrecord", examples, 1),) for name in SPLITS},
        rejected=0,
    )


def a_plan(experiment, run, table=None):
    """The plan of a run at these addresses; table: None for what the experiment's file names."""
    fingerprint, of_images = "3f2a", isinstance(experiment.source, ImageSource)
    table = table or a_table(experiment)
    dataset = PlannedDataset(
        uri=f"gs://{run.bucket}/{run.experiment}/datasets/{fingerprint}/",
        fingerprint=fingerprint,
        exists=False,
        source="the source",
        statement="SELECT 1",
        partition=None,
        examples=100,
        classes={"0": 50, "1": 50} if of_images else None,
        previous=None,
    )
    return Plan(
        experiment=experiment,
        run=run,
        run_id=run.folder,
        created="2025-01-01T00:00:00+00:00",
        data_interval={"start": None, "end": None},
        dataset=dataset,
        table=table,
        baselines=tuple(cost.baseline_names(experiment)),
        jobs={"dataflow": 1, "tuning": 1, "custom": 3, "automl": 0, "batch": 0},
        rates=cost.rates(experiment, "us-central1"),
        cost={"at_most_usd": 1.92, "stages": {}, "assumptions": "", "serving": None},
    )
