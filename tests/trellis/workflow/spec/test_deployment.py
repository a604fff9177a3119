"""The section `deploy`: every way to write it wrongly, and what it means where it says nothing."""

import pytest
import yaml

from tests.trellis.workflow.spec.files import GOOD, TABLE, assert_named
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.problems import FileError
from trellis.workflow.spec.sections import bounds, field_of
from trellis.workflow.validation.file import load
from trellis_contracts import documents

DEPLOY = """\
deploy:
  gate: {require: {accuracy: 0.9}, tolerance: 0.01}
  canary: [10, 50, 100]
  hold: 0 minutes
  smoke: {examples: 5, latency: 200}
  machines: {type: n1-standard-2, replicas: [1, 3]}
  keep_previous: 1 hour
  keep_versions: 3
"""

MISTAKES_WITH_DEPLOYMENT = [
    ("gate: {", "gates: {", 22, "deploy.gates", "unknown key; did you mean 'gate'?"),
    ("{accuracy: 0.9}", "{acuracy: 0.9}", 22, "deploy.gate.require.acuracy",
     "unknown metric 'acuracy' of multiclass_classification; did you mean 'accuracy'?"),
    ("{accuracy: 0.9}", "{rmse: 0.9}", 22, "deploy.gate.require.rmse", "unknown metric 'rmse'"),
    ("{accuracy: 0.9}", "{accuracy: 90}", 22, "deploy.gate.require.accuracy",
     "got 90; expected a number above 0, at most 1, the lower bound"),
    ("{accuracy: 0.9}", "{loss: 0}", 22, "deploy.gate.require.loss",
     "got 0; expected a number above 0, the upper bound"),
    ("{accuracy: 0.9}", "{accuracy: high}", 22, "deploy.gate.require.accuracy",
     "got 'high'; expected a number"),
    ("{accuracy: 0.9}", "0.9", 22, "deploy.gate.require", "expected numbers by name"),
    ("{require", "{beat: baselines, require", 22, "deploy.gate.beat",
     "there are no baselines to beat: add some, or switch `deploy` off too, or write `beat: noth"),
    ("{require", "{beat: everything, require", 22, "deploy.gate.beat", "one of baselines, nothing"),
    ("{require", "{margin: 0.1, require", 22, "deploy.gate.margin", "has no effect"),
    ("tolerance: 0.01", "tolerance: -1", 22, "deploy.gate.tolerance", "a number of at least 0"),
    ("{require: {accuracy: 0.9}, tolerance: 0.01}", "{tolerance: null}", 22, "deploy.gate",
     "accepts every model: name a metric in `require`"),
    ("[10, 50, 100]", "[10, 50]", 23, "deploy.canary", "the last one 100, as in [10, 50, 100]"),
    ("[10, 50, 100]", "[50, 10, 100]", 23, "deploy.canary", "rising whole numbers from 1 on"),
    ("[10, 50, 100]", "[0, 100]", 23, "deploy.canary", "rising whole numbers from 1 on"),
    ("[10, 50, 100]", "[10.5, 100]", 23, "deploy.canary", "whole numbers"),
    ("[10, 50, 100]", "[]", 23, "deploy.canary", "rising whole numbers from 1 on"),
    ("[10, 50, 100]", "100", 23, "deploy.canary", "got 100; expected rising whole numbers"),
    ("0 minutes", "0", 24, "deploy.hold", "as in '30 minutes' or '0 minutes'"),
    ("0 minutes", "-1 minutes", 24, "deploy.hold", "got '-1 minutes'"),
    ("examples: 5", "examples: 0", 25, "deploy.smoke.examples", "from 1 to 1000, in rows"),
    ("latency: 200", "latency: 0", 25, "deploy.smoke.latency", "from 1 to 60000, in milliseconds"),
    ("n1-standard-2", "n1-standard-3", 26, "deploy.machines.type",
     "'n1-standard-3' is no known machine type; did you"),
    ("type: n1", "gpu: NVIDIA_T4, type: n1", 26, "deploy.machines.gpu", "'NVIDIA_TESLA_T4'?"),
    ("type: n1", "gpus: 2, type: n1", 26, "deploy.machines.gpus", "2 of which type?"),
    ("type: n1-standard-2", "gpu: NVIDIA_TESLA_T4, type: e2-standard-2", 26, "deploy.machines",
     "goes with n1 machines"),
    ("[1, 3]", "[0, 1]", 26, "deploy.machines.replicas", "1 <= fewest <= most <= 100"),
    ("[1, 3]", "[3, 1]", 26, "deploy.machines.replicas", "1 <= fewest <= most <= 100"),
    ("[1, 3]", "2", 26, "deploy.machines.replicas", "got 2; expected [fewest, most]"),
    ("1 hour", "an hour", 27, "deploy.keep_previous", "a whole number and a unit"),
    ("keep_versions: 3", "keep_versions: 0", 28, "deploy.keep_versions", "from 1 to 1000"),
    ("keep_versions: 3", "private: maybe", 28, "deploy.private", "true or false"),
    ("keep_versions: 3", "approve: ada", 28, "deploy.approve",
     "got 'ada'; expected users' names in Airflow and roles there, as in [ada, \"role:Op\"]"),
    ("keep_versions: 3", "approve: [ada, 7]", 28, "deploy.approve", "got 7; expected a user's"),
    ("keep_versions: 3", "approve: [ada, '']", 28, "deploy.approve", "got ''; expected a user's"),
    ("keep_versions: 3", "approve: [' ada']", 28, "deploy.approve", "got ' ada'; expected a user"),
    ("keep_versions: 3", "approve: [ada, bob, ada]", 28, "deploy.approve", "'ada' is listed twice"),
    ("keep_versions: 3", "approve: [role: Op]", 28, "deploy.approve",
     "got 'role: Op'; a role is written \"role:Op\", in quotes"),
    ("keep_versions: 3", 'approve: ["Role:Op"]', 28, "deploy.approve", "written \"role:Op\""),
    ("keep_versions: 3", 'approve: ["role:"]', 28, "deploy.approve", "written \"role:Op\""),
    ("keep_versions: 3", "aprove: [ada]", 28, "deploy.aprove", "did you mean 'approve'?"),
    ("keep_versions: 3", "within: 1 day", 28, "deploy.within", "has no effect: `approve` names n"),
    ("keep_versions: 3", "within: 0 days\n  approve: [ada]", 28, "deploy.within", "a whole number"),
    ("keep_versions: 3", "within: 31 days\n  approve: [ada]", 28, "deploy.within",
     "got 31 days; expected at most 30 days"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    MISTAKES_WITH_DEPLOYMENT,
    ids=[f"{m[3]}-{m[1]}" for m in MISTAKES_WITH_DEPLOYMENT],
)
def test_a_mistake_in_a_deployment_is_named_too(write, old, new, line, field, message):
    assert_named(write, GOOD + DEPLOY, old, new, line, field, message)


@pytest.mark.parametrize(
    ("schedule", "within", "shortest"),
    [
        ("manual", "30 days", None),
        ("new data", "30 days", None),
        ("@weekly", "6 days", None),
        ("@weekly", "7 days", "7 days"),
        ("@quarterly", "30 days", None),
        ("0 3 * * 1,3", "2 days", "2 days"),
        ("0 3 * * 1,3", "47 hours", None),
        ("*/20 * * * *", "1 hour", "20 minutes"),
    ],
)
def test_a_run_waits_no_longer_for_an_answer_than_until_the_next(write, schedule, within, shortest):
    text = GOOD.replace("budget:", f'schedule: "{schedule}"\nbudget:')
    file = write(f'{text}{DEPLOY}  approve: [ada, "role:Op"]\n  within: {within}\n')
    if shortest is None:
        assert load(file).deployment.approve == ("ada", "role:Op")
        return
    with pytest.raises(FileError, match=rf"deploy.within: .* starts a run after {shortest}, which"):
        load(file)


def test_without_approvers_a_configuration_says_nothing_of_an_answer(write):
    with_some = load(write(GOOD + DEPLOY + "  approve: [ada]\n")).configuration()["deploy"]
    assert (with_some["approve"], with_some["within"]) == (["ada"], "3 days")
    assert not {"approve", "within"} & load(write(GOOD + DEPLOY)).configuration()["deploy"].keys()


def test_a_deployment_is_of_defaults(write):
    """Whatever is good enough for what the file does not say."""
    deploy = load(write(GOOD + "deploy: {}\n")).deploy
    assert (deploy.canary, deploy.machines.replicas) == ((10, 50, 100), (1, 1))
    assert (deploy.gate.beat, deploy.gate.tolerance) == ("baselines", 0.0)


def test_without_baselines_the_gate_does_not_speak_of_them(write):
    """Beating them is the default, and with none of them it asks nothing."""
    with_some = TABLE.replace("train:", "deploy: {gate: {require: {auc: 0.9}}}\ntrain:")
    assert load(write(with_some)).configuration()["deploy"]["gate"]["beat"] == "baselines"
    assert "beat" not in load(write(GOOD + DEPLOY)).configuration()["deploy"]["gate"]


def test_no_tolerance_is_another_thing_than_none_written(write):
    """null in plan.json: the model that is served is not compared with."""
    null = load(write(GOOD + DEPLOY.replace("0.01", "null")))
    assert null.configuration()["deploy"]["gate"]["tolerance"] is None


def test_the_recall_of_rare_classes_counts_unless_switched_off(write):
    def gate(text):
        return load(write(text)).configuration()["deploy"]["gate"]

    assert gate(GOOD + "deploy: {}\n")["recall"] == 0.0
    assert gate(GOOD + "deploy: {gate: {recall: null}}\n")["recall"] is None
    numbers = TABLE.replace("binary_classification", "regression").replace("auc", "rmse")
    numbers = numbers.replace("maximize", "minimize")
    numbers = numbers.replace("logistic_reg", "linear_reg").replace("classifier", "regressor")
    assert "recall" not in gate(numbers.replace("train:", "deploy: {}\ntrain:"))
    with pytest.raises(FileError, match=r"deploy.gate.recall: a regression has no classes"):
        load(write(numbers.replace("train:", "deploy: {gate: {recall: 0.1}}\ntrain:")))


@pytest.mark.parametrize(
    "deploy",
    [
        DEPLOY,
        DEPLOY.replace("0.01", "null"),
        "deploy: {}\n",
        DEPLOY + '  approve: [ada, "role:Op"]\n  within: 2 hours\n',
    ],
)
def test_a_configuration_is_an_experiment_file(write, deploy):
    experiment = load(write(GOOD + deploy))
    about = "# A good experiment.\n# For tests.\n"
    assert load(write(about + yaml.safe_dump(experiment.configuration()))) == experiment


def test_the_gate_bounds_what_the_leaderboard_computes_and_tuning_takes_no_calibration(write):
    bounds = "{balanced_accuracy: 0.9, average_precision: 0.8, brier: 0.1, loss: 0.3, ece: 0.05}"
    gate = load(write(GOOD + DEPLOY.replace("{accuracy: 0.9}", bounds))).deployment.gate
    assert gate.require["ece"] == 0.05
    with pytest.raises(FileError, match="unknown metric 'ece' of multiclass_classification"):
        load(write(GOOD.replace("maximize: accuracy", "minimize: ece")))


def bounded(schema, where=()):
    """Where a schema has numbers with bounds, and these."""
    found = schema.get("minimum"), schema.get("maximum")
    if found != (None, None):
        yield where, found
    for name, inner in schema.get("properties", {}).items():
        yield from bounded(inner, (*where, name))


def test_what_a_plan_refuses_of_a_configuration_the_file_refuses():
    """A plan that cannot be written is an error of a task, tried again, and without a line."""
    configuration = documents.schema("plan")["properties"]["configuration"]
    found = dict(bounded(configuration))
    assert ("deploy", "gate", "margin") in found
    for where, (least, most) in found.items():
        low, high = bounds(field_of(Experiment, where))
        assert least is None or low >= least, where
        assert most is None or high <= most, where
