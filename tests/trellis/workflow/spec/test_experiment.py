"""Defaults, sections and name of an experiment file; no file breaks the checks."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.trellis.workflow.spec.files import GOOD, TABLE, UNTUNED
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.machines import Machine
from trellis.workflow.spec.problems import FileError
from trellis.workflow.spec.source import ImageSource, QuerySource, TableSource
from trellis.workflow.spec.split import GroupSplit, KeySplit
from trellis.workflow.spec.tuning import Maximize, Span
from trellis.workflow.validation.file import load, validate, with_changes
from trellis_contracts.catalog import load as load_catalog

ROOT = Path(__file__).parents[4]
DIGITS = ROOT / "dags/experiments/digits.yaml"


def test_the_demo_experiment_is_good():
    assert load(DIGITS).name == "digits"


def test_what_is_left_out_has_its_default(write):
    experiment = load(write(GOOD))
    assert (experiment.name, experiment.about) == ("good", "A good experiment.\nFor tests.")
    assert experiment.schedule == "manual"
    assert experiment.tune.algorithm == "bayesian"
    assert experiment.train.machines.workers == 1
    assert experiment.source.size == (8, 8)


def test_an_experiment_on_a_table_is_good(write):
    source = load(write(TABLE)).source
    assert (source.title, source.key_, source.vocabulary) == ("tables", "sample_id", 1000)


@pytest.mark.parametrize(
    ("of", "values"),
    [
        (ImageSource, {"images": "m.csv", "size": 8, "key": "id"}),
        (TableSource, {"bigquery": "d.t", "key": "id", "label": "y", "size": 8}),
        (TableSource, {"bigquery": "d.t", "key": "id"}),
        (QuerySource, {"query": "SELECT 1", "bigquery": "d.t", "key": "id", "label": "y"}),
        (KeySplit, {"train": 90}),
        (GroupSplit, {"by": "patient", "train": 90}),
        (Span, {"from": 1, "to": 2, "choose": [1, 2]}),
        (Maximize, {"maximize": "auc", "minimize": "loss", "trials": 1, "epochs": 1, "search": {}}),
        (Machine, {"gpus": 2}),
    ],
)
def test_an_illegal_section_cannot_be_made(of, values):
    with pytest.raises(ValidationError):
        of.model_validate(values)


def test_the_keys_decide_what_a_source_is(write):
    images, table = load(write(GOOD)), load(write(TABLE))
    assert (images.source.title, table.source.title) == ("images", "tables")


def test_a_query_takes_the_place_of_a_table(write):
    query = "query: |\n    SELECT *\n    FROM research.cells"
    assert load(write(TABLE.replace("bigquery: research.cells", query))).source.title == "queries"


def test_the_configuration_has_the_keys_of_its_own_kind_only(write):
    tables = load(write(TABLE)).configuration()["source"]
    images = load(write(GOOD)).configuration()["source"]
    assert "encoding" not in tables
    assert "vocabulary" not in images


@pytest.mark.parametrize(
    "name", ["Digits.yaml", "1st.yaml", "a_b.yaml", "a-.yaml", f"{'a' * 41}.yaml"]
)
def test_the_files_name_must_name_an_experiment(write, name):
    with pytest.raises(FileError, match="is no name for one: expected a lower-case letter"):
        load(write(GOOD, name))


@pytest.mark.parametrize(
    "name", ["rollback.yaml", "digits-predict.yaml", "digest.yaml", "watch.yaml"]
)
def test_the_names_of_other_dags_are_taken(write, name):
    with pytest.raises(FileError, match=r"'.*' is the name of another DAG"):
        load(write(GOOD, name))


def test_a_file_that_is_no_text_is_a_problem_like_others(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="UTF-16; save it as UTF-8"):
        load(path)


def test_a_configuration_is_an_experiment_file(write):
    """plan.json's configuration, saved as a file, is the same experiment."""
    for good in (GOOD, TABLE):
        experiment = load(write(good))
        about = "".join(f"# {line}\n" for line in experiment.about.splitlines())
        text = about + yaml.safe_dump(experiment.configuration())
        assert load(write(text)) == experiment
        json.dumps(experiment.configuration())


def test_changes_are_checked_like_a_file(write):
    experiment = load(write(GOOD))
    changed = with_changes(experiment, {("tune", "trials"): 9, ("train", "machines", "workers"): 3})
    assert (changed.tune.trials, changed.train.machines.workers) == (9, 3)
    with pytest.raises(FileError, match=r"train.top: the best 2 of 1 trials"):
        with_changes(experiment, {("tune", "trials"): 1})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*Experiment.model_fields, "x"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_no_file_breaks_the_checks(tmp_path_factory, content):
    """Whatever a file holds, the answer is an experiment or a FileError."""
    path = tmp_path_factory.mktemp("fuzz") / "a.yaml"
    path.write_text(yaml.safe_dump(content))
    try:
        load(path)
    except FileError:
        return


def places(values, where=()):
    """Every key and item of a file, outermost first."""
    inner = values.items() if isinstance(values, dict) else enumerate(values)
    for name, value in inner:
        yield (*where, name)
        if isinstance(value, dict | list):
            yield from places(value, (*where, name))


@pytest.mark.parametrize(
    "junk", [None, True, -1, 0.5, "", "x", [], [[1]], {}, {"x": {"y": 1}}], ids=repr
)
@pytest.mark.parametrize("good", [GOOD, TABLE], ids=["images", "table"])
def test_nothing_in_any_place_breaks_the_checks(good, junk):
    """Whatever stands wherever: an experiment, or problems with a place and a message."""
    schema = load_catalog()
    for where in places(yaml.safe_load(good)):
        values = yaml.safe_load(good)
        section = values
        for part in where[:-1]:
            section = section[part]
        section[where[-1]] = junk
        experiment, problems = validate("good", "", values, schema)
        assert (experiment is None) == bool(problems)
        for problem in problems:
            assert problem.field
            assert problem.message
            assert "input should" not in problem.message, (where, problem)


def test_without_a_search_the_training_names_the_metric(write):
    experiment = load(write(UNTUNED))
    assert experiment.tune is None
    assert (experiment.goal, experiment.metric) == ("maximize", "balanced_accuracy")
    assert "tune" not in experiment.configuration()
    with pytest.raises(TypeError, match="good tunes nothing"):
        _ = experiment.tuning
