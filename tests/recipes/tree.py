"""Copies of the tree in which CONTRIBUTING's recipes are done by their files alone."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

HERE = Path(__file__).parent


def copy(target: Path, parts: Iterable[str]) -> Path:
    """Copy these folders of the tree; returns the target."""
    for part in parts:
        shutil.copytree(ROOT / part, target / part, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def insert(file: Path, before: str, text: str) -> None:
    """Insert a text into a file, before the one place where another stands."""
    content = file.read_text()
    assert content.count(before) == 1, f"{before!r} is not once in {file}"
    file.write_text(content.replace(before, text + before))


def environment(tree: Path) -> dict[str, str]:
    """The environment in which Python imports the copy's parts."""
    folders = (tree, tree / "plugins", tree / "contracts")
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}


def add_stage(tree: Path) -> None:
    """CONTRIBUTING, "Add a stage": audit follows compare, and result follows audit."""
    stages = tree / "plugins/trellis/workflow/stages"
    shutil.copy(HERE / "audit.py", stages)
    shutil.copy(HERE / "audit.schema.json", tree / "contracts/trellis_contracts/schemas")
    chain = tree / "plugins/trellis/workflow/assembly/chain.py"
    insert(chain, "    automl,\n", "    audit,\n")
    insert(chain, "    Link(served.STAGE", '    Link(audit.STAGE, ["compare"]),\n')
    insert(chain, '"compare", "deploy"]),\n)', '"audit", ')


def add_model(tree: Path) -> None:
    """CONTRIBUTING, "Add a model": maxout."""
    shutil.copy(HERE / "maxout.py", tree / "trainer/models")
    entry = '    "maxout": Model("the largest of several linear layers", ("image", "table")),\n'
    insert(tree / "contracts/trellis_contracts/models.py", '    "wide_and_deep": Model(', entry)


def add_hyperparameter(tree: Path) -> None:
    """CONTRIBUTING, "Add a hyperparameter": pieces, which maxout reads."""
    field = """\
    pieces: int = hyperparameter(
        2,
        "linear layers of which the largest output counts",
        unit="layers",
        minimum=1,
        maximum=16,
        models=("maxout",),
    )
"""
    file = tree / "contracts/trellis_contracts/model_hyperparameters.py"
    insert(file, "    backbone: str = hyperparameter(", field)


def add_metric(tree: Path) -> None:
    """CONTRIBUTING, "Add a metric": max_error, by which a gate may bound a regression, and
    within_one, by which its trainings may be chosen.
    """
    entry = """\
    "max_error": Metric(
        "minimize",
        (REGRESSION,),
        "largest absolute error, in the label's unit; only for the gate",
        gate_only=True,
    ),
    "within_one": Metric(
        "maximize",
        (REGRESSION,),
        "share of predictions that miss by at most one, in the label's unit",
    ),
"""
    insert(tree / "contracts/trellis_contracts/metrics/regression.py", '    "r2": Metric(', entry)
    column = """\
        Metric(
            "max_error",
            "largest error",
            "examples",
            "minimize",
            "Largest absolute error, in the unit of the label.",
            lambda outcome: float(outcome.misses.max()),
            lambda outcome, weights: (outcome.misses[:, np.newaxis] * (weights > 0)).max(axis=0),
            of_label=True,
        ),
        Metric(
            "within_one",
            "share within one",
            "examples",
            "maximize",
            "Share of predictions that miss by at most one, in the unit of the label.",
            lambda outcome: float((outcome.misses <= 1).mean()),
            lambda outcome, weights: weighted_mean((outcome.misses <= 1).astype(float), weights),
            interval="clopper-pearson",
            difference_interval="bonett-price",
            share=lambda outcome: (outcome.misses <= 1, np.ones(len(outcome.labels), bool)),
        ),
"""
    regression = tree / "trainer/metrics/regression.py"
    insert(regression, '        Metric(\n            "r2",', column)
    insert(
        regression,
        '        "mae": float(absolutes.mean()),\n',
        '        "within_one": float((absolutes <= 1).mean()),\n',
    )
    tally = """\
def _near(task, labels, outputs, weights):
    import tensorflow as tf

    misses = task.scale * tf.abs(outputs[:, 0] - task.targets(labels))
    return tf.reduce_sum(tf.cast(misses <= 1, tf.float32) * weights)


def _share_near(task, sums, means, examples):
    return {"within_one": float(sums[0] / examples)}


"""
    insert(regression, "TALLIES = (", tally)
    insert(regression, "Tally(lambda task: 2,", "Tally(lambda task: 1, _near, _share_near), ")


COUNT = {
    "family.py": "trainer/families",
    "metrics.py": "trainer/metrics",
    "listed.py": "contracts/trellis_contracts/metrics",
    "program.py": "contracts/trellis_contracts/program/forms",
    "objective.py": "trainer/training/objectives",
    "answers.py": "trainer/serving/answers",
    "predictions.py": "trainer/prediction_forms",
    "raw.py": "trainer/comparison/raw_predictions",
    "own_file.py": "trainer/estimators/answers",
    "report.py": "trainer/report/predictions",
    "exported.py": "trainer/exporting/tables/labels",
    "label.py": "plugins/trellis/workflow/labels",
    "frame.py": "plugins/trellis/workflow/lookups/predicted",
}
"""The modules of the task `count`, each of its name in a folder."""


def add_task(tree: Path) -> None:
    """CONTRIBUTING, "Add a task": count, by Poisson deviance."""
    for file, folder in COUNT.items():
        if (tree / folder).exists():
            shutil.copy(HERE / "count" / file, tree / folder / "count.py")
    contracts = tree / "contracts/trellis_contracts"
    entry = """\
    "count": Task(
        "a number of events",
        0,
        0,
        ("INT64",),
        "a count is a whole number",
        "poisson_deviance",
        2.0,
        "count",
        labels="counts",
        outputs="the logarithm of the expected count by that of the mean",
        answers=("count",),
        predictions={"label": "double", "value": "double"},
        metadata=(),
        unfit={"baselines.bqml": "BigQuery ML has no model of counts: leave it out"},
    ),
"""
    insert(contracts / "tasks.py", "    SEGMENTATION: Task(", entry)
    insert(contracts / "schemas/task.schema.json", '"multiclass_classification", ', '"count", ')
