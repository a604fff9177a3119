"""Refusals of the export and the trainer come earlier: from check, plan or the check stage.

refusals.py collects what they refuse from their source; refusal_table.py says of each who refuses
its input earlier, or why nobody can.
"""

import pytest
from google.cloud.bigquery import QueryJobConfig

from tests.trellis.workflow import refusal_cases as cases
from tests.trellis.workflow import refusal_table, refusals
from tests.trellis.workflow.plans import plan_run
from tests.trellis.workflow.spec.files import GOOD, UNTUNED
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages import check, snapshot
from trellis.workflow.validation.file import load, with_changes
from trellis_contracts.withheld import shown

REASONS = {
    value for name, value in vars(refusal_table).items() if name.isupper() and name != "TABLE"
}
CONVOLUTIONAL = GOOD.replace("model: dense", "model: convolutional").replace(
    "    layers: {from: 1, to: 4}\n", ""
)
BACKBONE = GOOD.replace("model: dense", "model: backbone").replace("size: 8", "size: 32")
BACKBONE = BACKBONE.replace("    layers: {from: 1, to: 4}\n", "").replace(
    "  epochs: 10", "  epochs: 10\n  machines: {workers: 2}"
)
OWN = GOOD.replace("model: dense", "model: mine.py").replace("    layers: {from: 1, to: 4}\n", "")
OWN_WORKERS = OWN.replace("  epochs: 10", "  epochs: 10\n  machines: {workers: 2}")
OWN_SERVERS = OWN_WORKERS.replace("workers: 2", "parameter_servers: {}")
OWN_SETS = OWN.replace("multiclass", "multilabel").replace(
    "train:", "hyperparameters: {class_weights: balanced}\ntrain:"
)

PICTURED = CONVOLUTIONAL.replace(
    "  images: manifest.csv\n  size: 8\n",
    "  bigquery: d.t\n  key: k\n  label: y\n  features: [photo]\n"
    "  image_columns: {photo: {size: 8}}\n",
).replace("train:", "hyperparameters: {mix: mixup}\ntrain:")

MASKED = UNTUNED.replace(
    "  images: manifest.csv\n  size: 8\n",
    "  bigquery: d.t\n  key: k\n  label: y\n  features: [photo]\n"
    "  image_columns: {photo: {size: 16}}\n  masks: {ground: 0, cell: 1}\n",
)
for old, new in [
    ("model: dense", "model: unet"),
    ("multiclass_classification", "segmentation"),
    ("{learning_rate: 0.01, units: 64}", "{blocks: 3}"),
    ("balanced_accuracy", "dice"),
]:
    MASKED = MASKED.replace(old, new)

BASES = {
    "GOOD": GOOD,
    "CONVOLUTIONAL": CONVOLUTIONAL,
    "BACKBONE": BACKBONE,
    "OWN": OWN,
    "PICTURED": PICTURED,
    "MASKED": MASKED,
}


def test_every_refusal_has_an_entry_and_every_entry_a_refusal():
    listed = {function: [] for function, _ in refusal_table.TABLE}
    for function, part in refusal_table.TABLE:
        listed[function].append(part)
    for function, texts in refusals.messages().items():
        parts = listed.pop(function, [])
        assert len(parts) == len(texts), f"{function}: enter into refusal_table.py: {texts}"
        for text in texts:
            assert [part in text for part in parts].count(True) == 1, f"{function}: {text}"
    assert listed == {}


def test_what_is_refused_earlier_is_tried():
    tried = {*cases.FILES, *cases.MANIFESTS, *cases.TABLES, *cases.ROWS}
    named = [
        case
        for value in refusal_table.TABLE.values()
        if value not in REASONS
        for case in value.split(", ")
    ]
    assert set(named) <= tried


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    raise ExportError('no')\n",
        "def f():\n    def g():\n        raise ModelError('no')\n",
        "class A:\n    def f(self):\n        raise TrainingError('no') from None\n",
        "def f(refuse):\n    refuse('no')\n",
        "def f(findings):\n    findings.add('no', keys)\n",
    ],
)
def test_a_new_refusal_would_be_collected(text):
    assert len(refusals.of_text(text)) == 1


@pytest.mark.parametrize("name", cases.FILES)
def test_check_refuses_it_in_the_file(name, tmp_path):
    base, old, new, message = cases.FILES[name]
    model, text = cases.MODEL, BASES[base]
    if base == "OWN":
        model = model.replace(old, new, 1) if old else new + model
        text = OWN_SETS if "class weights" in name else text
        text = OWN_WORKERS if "on workers" in name else text
        text = OWN_SERVERS if "with servers" in name else text
        (tmp_path / "mine.py").write_text(model)
        if name.startswith("own loss"):
            (tmp_path / "mine.py").write_text(cases.MODEL)
            (tmp_path / "good.yaml").write_text(text)
            load(tmp_path / "good.yaml")  # it is the loss that does not go with the weights
            (tmp_path / "mine.py").write_text(model)
    else:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(FileError) as refused:
        load(tmp_path / "bad.yaml")
    assert message in str(refused.value)


@pytest.fixture
def bucket(google, group):
    """The group's bucket, as a folder."""
    folder = google.buckets / group.bucket
    folder.mkdir(exist_ok=True)
    (folder / "digits").mkdir(exist_ok=True)
    return folder


def plan_manifest(bucket, digits, group, lines, changes):
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
    (bucket / "digits/refused.csv").write_bytes(text)
    changed = {("source", "images"): "digits/refused.csv", ("predict",): None, **changes}
    return plan_run(with_changes(digits, changed), group, "refusals")


def test_a_good_manifest_is_planned(bucket, digits, group):
    assert plan_manifest(bucket, digits, group, cases.lines(), {}).dataset.examples == 300


@pytest.mark.parametrize("name", cases.MANIFESTS)
def test_plan_or_the_check_stage_refuses_it_in_the_manifest(name, bucket, digits, checked, group):
    lines, changes, message = cases.MANIFESTS[name]
    try:
        found = checked(plan_manifest(bucket, digits, group, lines, changes))
    except SourceError as refused:
        found = [shown(refused.text)]
    assert any(message in problem for problem in found), found


@pytest.fixture
def plan(google, bucket, breast_cancer, group):
    """Plans a run on rows of these columns."""

    def plan(columns, changes):
        known = {"sample_id": "CAST(n AS STRING)", "malignant": "MOD(n, 2) = 0", "x": "n / 2"}
        known |= columns
        rows = known.pop("rows", 300)
        selected = ", ".join(f"{sql} AS `{name}`" for name, sql in known.items() if sql)
        source = {("source", "bigquery"): None, ("source", "partition"): None}
        query = f"SELECT {selected} FROM UNNEST(GENERATE_ARRAY(1, {rows})) AS n"
        changed = {**source, ("source", "query"): query, **changes}
        return plan_run(with_changes(breast_cancer, changed), group, "refusals")

    return plan


@pytest.mark.parametrize("name", cases.TABLES)
def test_plan_refuses_it_in_the_columns(name, plan):
    columns, changes, message = cases.TABLES[name]
    with pytest.raises(SourceError) as refused:
        plan(columns, changes)
    assert message in str(refused.value)


@pytest.fixture
def checked(google, group):
    """Return the problems that the check stage finds in the rows of a plan."""
    from google.cloud import bigquery

    client = bigquery.Client(project=group.project, location=group.location)

    def checked(planned):
        for job in (snapshot.job(planned, group), check.job(planned, group)):
            statement = job["query"].pop("query")
            config = QueryJobConfig.from_api_repr(job)
            if config.destination:  # an earlier case has had the same rows
                client.delete_table(config.destination, not_found_ok=True)
            rows = client.query_and_wait(statement, job_config=config, max_results=1)
        return list(map(shown, check.evaluate(dict(next(rows).items()), planned, group)[0]))

    return checked


@pytest.fixture
def problems(plan, checked):
    """Return the problems that the check stage finds in rows of these columns."""
    return lambda columns, changes: checked(plan(columns, changes))


def test_good_rows_pass_the_check_stage(problems):
    assert problems({}, {("source", "data_checks"): "warn"}) == []


@pytest.mark.parametrize("name", cases.ROWS)
def test_the_check_stage_refuses_it_in_the_rows(name, problems):
    columns, changes, message = cases.ROWS[name]
    found = problems(columns, changes)
    assert any(message in problem for problem in found), found
