"""The command for people who write experiments."""

import re
import shutil
import socket
import subprocess
import sys

import pytest
from google.api_core.exceptions import RetryError
from google.auth.exceptions import TransportError
from requests import ConnectionError as ConnectError

from tests.airflow_side import ROOT
from tests.wording import says
from trellis import try_model
from trellis.__main__ import main
from trellis.results import index
from trellis.workflow.assembly import chain
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.sections import fields, is_mapping, sections_of
from trellis.workflow.validation import platform
from trellis.workflow.validation.file import load
from trellis_contracts.program import page

pytestmark = pytest.mark.one_airflow

DIGITS = ROOT / "dags/experiments/digits.yaml"


@pytest.fixture(scope="module")
def usd():
    """What a run of digits may cost at most, by today's table of prices, in US dollars."""
    return round(chain.at_most(load(DIGITS), platform.load(ROOT / "dags")).usd, 2)


def test_a_good_file(capsys, usd):
    assert main(["check", str(DIGITS)]) == 0
    out = capsys.readouterr().out
    assert says(out, "digits.yaml: good", f"at most {usd:.2f} USD")
    assert re.search(r"serving .* \d+\.\d\d USD a day", out)


def test_the_contract_is_printed(capsys):
    assert main(["contract"]) == 0
    assert capsys.readouterr().out.strip() == page.text().strip()


def test_a_reader_that_has_enough_is_no_error():
    command = f"{sys.executable} -m trellis reference | head -1"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert ended.stdout.startswith("Keys of an experiment file")
    assert ended.stderr == ""


def test_an_emulator_that_is_down_is_named_at_once(monkeypatch, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        for command in (["runs"], ["endpoints"], ["new", "experiment", "data.t"]):
            assert main(command) == 1
            assert f"{address} does not answer" in capsys.readouterr().err


@pytest.mark.parametrize("error", [RetryError("t", None), TransportError("t"), ConnectError("t")])
def test_no_answer_is_told_without_a_traceback(monkeypatch, capsys, error):
    def load_index(*_):
        raise error

    monkeypatch.setattr(index, "load_index", load_index)
    monkeypatch.setattr(index, "client_of", lambda _: None)
    assert main(["runs"]) == 1
    assert capsys.readouterr().err.startswith("Google does not answer: ")


def test_wrong_files_are_told_with_all_their_problems(tmp_path, capsys):
    (tmp_path / "a.yaml").write_text("owner: 1\n")
    assert main(["check", str(tmp_path / "a.yaml"), str(tmp_path / "missing.yaml")]) == 1
    errors = capsys.readouterr().err
    assert "line 1, owner: got 1; expected text" in errors
    assert "missing.yaml: 1 problem" in errors


def test_both_forms_of_a_file_are_checked(tmp_path, capsys, usd):
    text = (ROOT / "dags/experiments/digits.yaml").read_text()
    file = tmp_path / "a.yaml"
    command = ["check", str(file), "--platform", str(ROOT / "dags")]
    file.write_text(f"{text}\nlocal:\n  tune: {{trials: 2}}\n")
    assert main(command) == 0
    plain, local = (line for line in capsys.readouterr().out.splitlines() if "one run" in line)
    assert f"a.yaml: good; one run costs at most {usd:.2f} USD" in plain
    assert says(local, "a.yaml", "`local`")
    assert f"{usd:.2f} USD" not in local
    file.write_text(f"{text}\nlocal:\n  budget: 0.01 USD\n")
    assert main(command) == 1
    found = capsys.readouterr()
    assert "a.yaml: good" in found.out
    line = file.read_text().count("\n")
    assert says(found.err, "`local`", "1 problem", f"line {line}, budget: ")


def copied(tmp_path, name):
    """A good experiment under another name, in a group's folder."""
    folder = tmp_path / "experiments"
    folder.mkdir()
    shutil.copy(ROOT / "dags/platform.yaml", tmp_path)
    (folder / name).write_text((ROOT / "dags/experiments/digits.yaml").read_text())
    return folder / name


@pytest.mark.parametrize("name", ["x.yml", "x.YAML", "x.yaml.txt"])
def test_a_file_that_is_never_read_is_not_good(tmp_path, capsys, name):
    assert main(["check", str(copied(tmp_path, name))]) == 1
    assert says(capsys.readouterr().err, f"{name}: 1 problem", "the file", " .yaml")


def test_a_file_in_another_folder_is_not_good(tmp_path, capsys):
    file = copied(tmp_path, "x.yaml")
    (file.parent / "old").mkdir()
    file = file.rename(file.parent / "old" / file.name)
    assert main(["check", str(file)]) == 1
    assert "lies in no folder experiments/" in capsys.readouterr().err


def test_a_link_is_checked_on_the_platform_beside_it(tmp_path, capsys):
    file = copied(tmp_path, "x.yaml")
    file.unlink()
    file.symlink_to(ROOT / "dags/experiments/digits.yaml")
    (tmp_path / "platform.yaml").write_text("project: local-gcp\n")
    assert main(["check", str(file)]) == 1
    assert str(tmp_path / "platform.yaml") in capsys.readouterr().err


def test_the_platform_is_checked_itself(tmp_path, capsys):
    assert main(["check", str(ROOT / "dags/platform.yaml")]) == 0
    (tmp_path / "platform.yaml").write_text("project: local-gcp\nbucket: 1\n")
    assert main(["check", str(tmp_path / "platform.yaml")]) == 1
    assert "line 2, bucket: got 1; expected text" in capsys.readouterr().err


OWN = """
HYPERPARAMETERS = {"width": {"default": 8, "minimum": 1, "maximum": 64, "description": "units"}}
def build(dataset, hyperparameters): ...
"""


@pytest.fixture
def own(tmp_path):
    """An experiment of images with a model of its own."""
    text = (ROOT / "dags/experiments/digits.yaml").read_text()
    text = text.replace("model: convolutional", "model: mine.py\nhyperparameters: {width: 12}")
    (tmp_path / "a.yaml").write_text(re.sub(r"(?m)^    (filters|dropout): .*\n", "", text))
    (tmp_path / "mine.py").write_text(OWN)
    return tmp_path / "a.yaml"


def test_a_models_file_is_tried_by_the_trainer_with_what_the_experiment_says(own, monkeypatch):
    commands = []

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(try_model.subprocess, "run", run)
    monkeypatch.setattr(try_model, "_python", lambda image: "python")
    assert main(["try", str(own), "--classes=10"]) == 3
    ((*start, model), flags) = commands[0][:5], commands[0][5:]
    assert start == ["python", "-m", "trainer", "try"]
    assert model == str(own.parent / "mine.py")
    assert flags == [
        "--task=multiclass_classification",
        "--width=12",
        "--images=8x8x1",
        "--classes=10",
    ]


def test_a_models_file_is_tried_on_images_of_the_sizes_that_rows_have(own, monkeypatch):
    commands = []
    monkeypatch.setattr(
        try_model.subprocess,
        "run",
        lambda command, **_: commands.append(command) or subprocess.CompletedProcess(command, 0),
    )
    monkeypatch.setattr(try_model, "_python", lambda image: "python")
    text = re.sub(
        r"(?m)^source:\n(  .*\n)+",
        "source:\n  bigquery: lab.eyes\n  key: id\n  label: grade\n  image_columns:\n"
        "    left: {size: [64, 48]}\n    right: {size: 32, channels: 1, scale: full}\n",
        own.read_text(),
    )
    own.write_text(re.sub(r"(?m)^predict:.*\n(  .*\n?)*", "", text))
    assert main(["try", str(own)]) == 0
    flags = commands[0][5:]
    assert "--feature=left=image:64x48x3" in flags
    assert "--feature=right=image:32x32x1" in flags
    assert "--scale=full" in flags


OF_ANY_LIBRARY = "def fit(data, hyperparameters, report): ...\ndef load(folder): ...\n"


@pytest.mark.parametrize("text", [OWN, OF_ANY_LIBRARY], ids=["build", "fit"])
def test_where_the_trainer_is_not_installed_the_command_is_printed(own, monkeypatch, capsys, text):
    """No message names TensorFlow: a file with `fit` may use any library."""
    monkeypatch.chdir(own.parent)
    (own.parent / "mine.py").write_text(text)
    assert main(["try", "mine.py"]) == 1
    error = capsys.readouterr().err
    assert "The declarations in mine.py are good" in error
    assert "  .venv/trainer/bin/python -m trainer try mine.py\n" in error
    assert "TensorFlow" not in error
    (own.parent / "mine.py").write_text("W = 1\n")
    assert main(["try", "mine.py"]) == 1
    assert "line 1: there is no function `def build" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("budget: 3 USD", "budget: {less}", ("line 8, budget", "A run", "{usd}", "{less}")),
        ("predict:", "predict:\n  machines: {{replicas: 20}}", ("line 8, budget", "A prediction")),
        ("deploy:", "deploy:\n  private: true", ("deploy.private", "network")),
    ],
    ids=["runs beyond the budget", "predictions beyond it", "private without a network"],
)
def test_what_the_file_alone_does_not_show(tmp_path, capsys, usd, old, new, facts):
    """It takes platform.yaml and prices."""
    amounts = {"usd": f"{usd:.2f} USD", "less": f"{usd - 0.01:.2f} USD"}
    file = tmp_path / "a.yaml"
    file.write_text(DIGITS.read_text().replace(old, new.format(**amounts)))
    assert main(["check", str(file), "--platform", str(ROOT / "dags")]) == 1
    out, err = capsys.readouterr()
    assert says(err, "a.yaml: 1 problem", [fact.format(**amounts) for fact in facts])
    assert "good" not in out


def keys(section, prefix=""):
    for name, info in fields(section):
        yield prefix + name
        if not is_mapping(info):
            for inner in sections_of(info.annotation):
                yield from keys(inner, f"{prefix}{name}.")


def test_the_reference_names_every_key_and_hyperparameter(capsys):
    assert main(["reference"]) == 0
    out = capsys.readouterr().out
    words = {line.split()[0].rstrip("*") for line in out.splitlines() if line.strip()}
    assert set(keys(Experiment)) | set(keys(Platform)) <= words
    assert {"tune.search.HYPERPARAMETER.from", "learning_rate", "convolutional"} <= words
    assert all(len(line) <= 100 for line in out.splitlines())
    assert "only for images; " in out
    assert "only for tables and queries; " in out
    assert out.count("  predict.output ") == 2  # a folder of images, a table of rows


def test_help_teaches(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "usage: trellis" in capsys.readouterr().out
    # The program, as it is installed.
    done = subprocess.run([ROOT / ".venv/airflow/bin/trellis"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "usage: trellis" in done.stderr


def test_what_a_command_does_not_take_is_refused_with_what_it_takes(capsys):
    with pytest.raises(SystemExit):
        main(["runs", "digits", "r"])
    error = capsys.readouterr().err
    assert "usage: trellis runs" in error
    assert error.endswith("trellis runs: error: unrecognized arguments: r\n")


def test_nothing_heavy_is_imported_at_the_top():
    """A parsing pays for every import, and so does the command: neither Google's libraries nor
    Airflow's core here.
    """
    program = (
        "import sys, trellis.__main__; from trellis.workflow.assembly import chain; "
        "from trellis.workflow.spec import platform, reference; "
        "from trellis.workflow.validation import file; "
        "print([m for m in sys.modules if m.startswith(('google.cloud.', 'airflow', 'numpy'))])"
    )
    done = subprocess.run(
        [ROOT / ".venv/airflow/bin/python", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
