"""Whatever is wrong with one file of a group costs that file alone, as the DAG processor reads it.

Made files: any bytes, and the shipped examples with a part replaced, lost, moved or repeated. Each
is read by the function that Airflow's DAG processor calls for each DAG file, in this process: what
ended it would end the tests.
"""

import os
import re
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.airflow_side import ROOT
from trellis.__main__ import main

pytestmark = [pytest.mark.usefixtures("airflow_database"), pytest.mark.one_airflow]

BESIDE = {"good", "own"}
SHIPPED = [file.read_text() for file in sorted((ROOT / "dags/experiments").glob("*.yaml"))]
PLATFORM = (ROOT / "dags/platform.yaml").read_text()
MODEL = """\
HYPERPARAMETERS = {"width": {"default": 8, "minimum": 1, "maximum": 64, "description": "units"}}
INPUTS = ["image", "table"]
def build(dataset, hyperparameters): ...
def loss(labels, outputs, hyperparameters): ...
"""
OWN = re.sub(
    r"(?m)^    (filters|dropout): .*\n",
    "",
    (ROOT / "dags/experiments/digits.yaml")
    .read_text()
    .replace("model: convolutional", "model: mine.py\nhyperparameters: {width: 12}"),
)
ODD = [
    "2024-02-30", "0000-00-00", "!env USER", "=", "<<: *a", "&a [*a]", "*a", "010", "1:30", "-1",
    "1e999", "0", ".nan", "~", "[]", "{}", "[[[[", "{? [a]: b}", "yes", "R R * * *", "0 0 30 2 *",
    '"a\\0b"', "9" * 400, "99999999 days", "999999999.99 USD", "x" * 3000, "\x0b", "\u2028",
    "\ufeff", "---\n", "- a", ": b", "\t", "|\n", "%YAML 1.1\n", "@midnight", "new data",
    "new champion of good", "{a: {a: {a: 1}}}", "[" * 5000, "{from: 1, to: 1e300}", "mine.py",
    "{choose: [1, a]}", "../mine.py", "missing.py", "'", '"', "#", "\r", "\N{NO-BREAK SPACE}",
    "true", "1.5", "👍",
]  # fmt: skip


@st.composite
def mutated(draw, texts):
    """A text of `texts` with one to three parts replaced, lost, moved or repeated."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 3))):
        words = [m.span() for m in re.finditer(r"[^\s:,{}\[\]]+|[:,{}\[\]]|\n +|\n", text)]
        if not words:
            break
        start, end = draw(st.sampled_from(words))
        other = draw(st.sampled_from(words))
        part = draw(
            st.one_of(
                st.sampled_from(ODD),
                st.text(max_size=8),
                st.just(""),
                st.just(text[other[0] : other[1]]),
                st.just(text[start:end] * 2),
            )
        )
        text = text[:start] + part + text[end:]
    return text.encode(errors="surrogateescape")


def files(texts):
    return st.one_of(mutated(texts), st.binary(max_size=200), st.text(max_size=200).map(str.encode))


@pytest.fixture(scope="module")
def monkeypatch_module():
    """Changes what lasts for all tests of the module."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A group's folder: two good experiments, one of them with a model of its own."""
    folder = tmp_path_factory.mktemp("group") / "dags"
    shutil.copytree(ROOT / "dags", folder, ignore=shutil.ignore_patterns("__pycache__", "*.yaml"))
    (folder / "platform.yaml").write_text(PLATFORM)
    shutil.copy(ROOT / "dags/experiments/digits.yaml", folder / "experiments/good.yaml")
    (folder / "experiments/own.yaml").write_text(OWN)
    (folder / "experiments/mine.py").write_text(MODEL)
    return folder


@pytest.fixture(scope="module")
def process(folder, monkeypatch_module):
    """Reads DAG files as Airflow's DAG processor does: the ids of their DAGs, and the errors."""
    import structlog
    from airflow.dag_processing.processor import DagFileParseRequest, _parse_file

    # An import ends after 30 s, and the first one of Google's libraries may take longer.
    monkeypatch_module.setenv("AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT", "0")

    def process(*names):
        ids, errors = set(), []
        for name in names:
            request = DagFileParseRequest(
                file=str(folder / name),
                bundle_path=folder,
                bundle_name="dags-folder",
                callback_requests=[],
            )
            result = _parse_file(request, structlog.get_logger())
            ids |= {dag.dag_id for dag in result.serialized_dags}
            errors += result.import_errors.values()
        return ids, errors

    return process


# FUZZ=1000 with --hypothesis-seed=N makes other files than ever.
fuzz = settings(
    max_examples=int(os.environ.get("FUZZ", "20")),
    derandomize="FUZZ" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def assert_named(said, file):
    """A problem has its file, and its line unless it is about the whole file; a rule found it."""
    assert str(file) in said
    assert "no rule" not in said
    assert re.search(r"\n  (line \d+[,:]|the file: )", said), said


@fuzz
@given(content=files(SHIPPED))
def test_an_experiment_file_costs_itself_alone(folder, process, capsys, content):
    file = folder / "experiments/made.yaml"
    file.write_bytes(content)
    try:
        ids, errors = process("trellis_dags.py")
        assert errors == []
        assert ids >= BESIDE
        _, reported = process("trellis_errors.py")
        good = main(["check", str(file)]) == 0
        said = capsys.readouterr().err
    finally:
        file.unlink()
    if good:
        assert reported == []
        assert "made" in ids
    else:
        assert_named(said, file)
    for report in reported:
        # The platform has `profile: local`: the command checks the other form, too.
        assert not good
        assert_named(report, file)
        assert report[report.index(str(file)) :].strip() in said


@fuzz
@given(content=files([MODEL]))
def test_a_model_file_costs_its_experiment_alone(folder, process, capsys, content):
    model, file = folder / "experiments/mine.py", folder / "experiments/own.yaml"
    model.write_bytes(content)
    try:
        ids, errors = process("trellis_dags.py")
        assert errors == []
        assert ids >= {"good"}
        _, reported = process("trellis_errors.py")
        good = main(["check", str(file)]) == 0
        said = capsys.readouterr().err
    finally:
        model.write_text(MODEL)
    assert good == ("own" in ids)
    assert good == (reported == [])
    if not good:
        assert_named(said, file)
        assert "mine.py" in said


@fuzz
@given(content=files([PLATFORM]))
def test_a_platform_file_is_everyones_error_with_its_line(folder, process, capsys, content):
    file = folder / "platform.yaml"
    file.write_bytes(content)
    try:
        good = main(["check", str(file)]) == 0
        said = capsys.readouterr().err
        ids, errors = process("trellis_dags.py")
    finally:
        file.write_text(PLATFORM)
    if good:
        assert errors == []
        assert sum(name.endswith(tuple(BESIDE)) for name in ids) == len(BESIDE)
    else:
        assert ids == set()
        assert_named(said, file)
        assert said.strip() in errors[0]
