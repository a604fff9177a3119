"""Flags are checked one by one, by name, and without Beam; the template offers the same ones."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.exporting.flags import parse_flags
from trainer.exporting.settings import ExportSettings

REQUIRED = {
    "source": "gs://bucket/source/columns.json",
    "output": "gs://bucket/datasets/3f2a/",
    "fingerprint": "3f2a",
}


def parse(*others, **changed):
    flags = [f"--{name}={value}" for name, value in (REQUIRED | changed).items()]
    return parse_flags([*flags, *others], "about")


def test_every_flag_is_understood():
    source, output = REQUIRED["source"], REQUIRED["output"]
    assert parse() == (ExportSettings(source, output, "3f2a", 8, by_bytes=True), [])
    assert parse("--dry-run", shards=3)[0] == ExportSettings(source, output, "3f2a", 3, True)


def test_other_flags_are_left_for_beam():
    flags = ["--runner", "DataflowRunner", "--project=p", "--streaming", "--num_workers=2"]
    assert parse(*flags)[1] == flags


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"source": "s3://bucket/a.json"}, "expected gs://BUCKET/OBJECT"),
        ({"source": "gs://bucket/"}, "names a bucket, not an object"),
        ({"output": "gs://Bucket/x"}, "expected gs://BUCKET/OBJECT"),
        ({"output": ""}, "the address is empty"),
        ({"fingerprint": "a/b"}, "'a/b' is not 1 to 128 of"),
        ({"shards": "0"}, "'0' is not a whole number from 1 to 99999"),
        ({"shards": "1.5"}, "'1.5' is not a whole number"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(capsys, changed, message):
    with pytest.raises(SystemExit) as ended:
        parse(**changed)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert f"argument --{next(iter(changed))}" in error


def test_a_missing_flag_is_named(capsys):
    with pytest.raises(SystemExit):
        parse_flags(["--source=gs://bucket/a"], "about")
    assert "--output, --fingerprint" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--shard=3", "--fingerprnt=8", "--sorce=1"])
def test_a_misspelt_flag_is_not_taken_for_one_of_beams(capsys, flag):
    with pytest.raises(SystemExit):
        parse(flag)
    assert f"unknown flag {flag.partition('=')[0]}; did you mean --" in capsys.readouterr().err


def test_no_flag_of_beam_is_taken_for_a_misspelt_one_of_ours():
    from apache_beam.options.pipeline_options import PipelineOptions

    for name in PipelineOptions([]).get_all_options():
        assert parse(f"--{name}")[1] == [f"--{name}"]


def test_help_and_wrong_flags_do_not_wait_for_beam():
    program = (
        "import sys, trainer.export\n"
        "try: trainer.export.main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "assert not {'apache_beam', 'cv2', 'tensorflow'} & set(sys.modules), 'imported'"
    )
    for arguments in (["--help"], ["--shards=0"]):
        subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True)


def test_no_module_of_the_trainer_hides_one_of_pythons():
    # A flex template runs trainer/export.py as a script, which puts trainer/ first on the path.
    trainer = Path(sys.modules["trainer"].__file__).parent
    names = {path.stem for path in trainer.iterdir()} - {"__init__", "__main__", "__pycache__"}
    assert not names & sys.stdlib_module_names


@pytest.fixture(scope="module")
def template():
    path = Path(__file__).parents[3] / "docker" / "export_template.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_template_offers_every_flag_and_requires_the_same(template):
    flags = subprocess.run(
        [sys.executable, "-m", "trainer.export", "--help"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    offered = {parameter["name"]: parameter for parameter in template["metadata"]["parameters"]}
    # Dataflow would miss a job after a dry run.
    assert {*offered, "dry-run"} == set(re.findall(r"^  --([\w-]+)", flags, re.MULTILINE))
    required = {name for name, parameter in offered.items() if not parameter.get("isOptional")}
    assert required == set(REQUIRED)
    for parameter in offered.values():
        assert parameter["label"]
        assert parameter["helpText"]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("source", ["gs://bucket/a/b.json", "gs://bucket/été.json"], ["gs://bucket/", "a.json"]),
        ("output", ["gs://bucket/a/", "gs://bucket/a"], ["bucket/a", "gs://Bucket/a"]),
        ("fingerprint", ["3f2a", "A-b_9"], ["", "a/b", "a b"]),
        ("shards", ["1", "99999", "8+"], ["0", "100000", "1.5", "", "+", "8++"]),
    ],
)
def test_the_template_and_the_program_agree_on_values(template, name, good, bad):
    (parameter,) = (p for p in template["metadata"]["parameters"] if p["name"] == name)

    def matches(value):  # as Dataflow does: each expression must match the whole value
        return all(re.fullmatch(regex, value) for regex in parameter["regexes"])

    for value in good:
        assert matches(value)
        parse(**{name: value})
    for value in bad:
        assert not matches(value)
