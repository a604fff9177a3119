"""Flags are checked one by one, by name, and without Beam; the template offers the same ones."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.exporting.flags import parse_flags
from trainer.exporting.settings import ImageExportSettings

REQUIRED = {
    "source": "gs://bucket/manifest.csv",
    "output": "gs://bucket/datasets/3f2a/",
    "fingerprint": "3f2a",
    "image_size": "8",
}


def parse(*others, **changed):
    flags = [f"--{name}={value}" for name, value in (REQUIRED | changed).items()]
    return parse_flags([*flags, *others], "about")


def test_defaults():
    settings, beam_flags = parse()
    assert settings.image.shape == (8, 8, 3)
    assert settings.image.encoding == "jpeg"
    assert settings.image.resize == "stretch"
    assert (settings.image.scale, settings.image.dtype) == (None, "uint8")
    assert (settings.shards, settings.max_rejected) == (8, 0.05)
    assert settings.fractions == (80, 10, 10)
    assert beam_flags == []


def test_every_flag_is_understood():
    settings, _ = parse(
        image_size="32x48",
        channels=1,
        encoding="png",
        resize="letterbox",
        shards=3,
        max_rejected="0",
        split_fractions="70, 20, 10",
    )
    assert settings.image.shape == (32, 48, 1)
    assert settings.image.encoding == "png"
    assert settings.image.resize == "letterbox"
    assert (settings.shards, settings.max_rejected) == (3, 0.0)
    assert settings.fractions == (70, 20, 10)


def test_with_a_scale_images_are_stored_with_16_bits(capsys):
    image = parse(scale="range:200.0,3900")[0].image
    assert (image.scale, image.dtype, image.encoding) == ("range:200,3900", "uint16", "png")
    with pytest.raises(SystemExit):
        parse(scale="full", encoding="jpeg")
    assert "--encoding jpeg keeps 8 bits" in capsys.readouterr().err


def test_other_flags_are_left_for_beam():
    flags = ["--runner", "DataflowRunner", "--project=p", "--streaming", "--num_workers=2"]
    assert parse(*flags)[1] == flags


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"image_size": "0"}, "'0' is not an image size: N or HEIGHTxWIDTH, each 1 to 8192 pixels"),
        ({"image_size": "8x0"}, "'8x0' is not an image size"),
        ({"image_size": "-8"}, "'-8' is not an image size"),
        ({"image_size": "9000"}, "'9000' is not an image size"),
        ({"source": "s3://bucket/a.csv"}, "expected gs://BUCKET/OBJECT"),
        ({"source": "gs://bucket/"}, "names a bucket, not an object"),
        ({"output": "gs://Bucket/x"}, "expected gs://BUCKET/OBJECT"),
        ({"output": ""}, "the address is empty"),
        ({"fingerprint": "a/b"}, "'a/b' is not 1 to 128 of"),
        ({"channels": "4"}, "invalid choice: 4"),
        ({"encoding": "gif"}, "invalid choice: 'gif'"),
        ({"shards": "0"}, "'0' is not a whole number from 1 to 99999"),
        ({"shards": "1.5"}, "'1.5' is not a whole number"),
        ({"max_rejected": "5"}, "'5' is not a share from 0 to 1 (5 percent: 0.05)"),
        ({"max_rejected": "nan"}, "'nan' is not a share"),
        ({"split_fractions": "80,20"}, "is not three whole percentages"),
        ({"split_fractions": "80,10,5"}, "must add up to 100 (it adds up to 95)"),
        ({"split_fractions": "90,10,0"}, "at least 1 for each of train, validation and test"),
        ({"split_days": "2024-01-01"}, "is not two days, such as 2024-01-01,2024-03-01"),
        ({"split_days": "2024-03-01,2024-03-01"}, "validation has to begin before test"),
        ({"stratify": "yes"}, "'yes' is neither true nor false"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(capsys, changed, message):
    with pytest.raises(SystemExit) as ended:
        parse(**changed)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert f"argument --{next(iter(changed))}" in error


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"split_days": "2024-01-01,2024-03-01"}, "--split_by has to say what the days are"),
        ({"stratify": "true", "split_by": "patient"}, "--stratify true divides single classes"),
        ({"stratify": "true", "task": "regression"}, "--stratify true divides single classes"),
    ],
)
def test_rules_of_a_split_exclude_one_another(capsys, changed, message):
    with pytest.raises(SystemExit):
        parse(**changed)
    assert message in capsys.readouterr().err


def test_a_missing_flag_is_named(capsys):
    with pytest.raises(SystemExit):
        parse_flags(["--source=gs://bucket/a"], "about")
    assert "--output, --fingerprint" in capsys.readouterr().err


def test_images_have_a_size(capsys):
    required = {name: value for name, value in REQUIRED.items() if name != "image_size"}
    with pytest.raises(SystemExit):
        parse_flags([f"--{name}={value}" for name, value in required.items()], "about")
    assert "--image_size is required for images" in capsys.readouterr().err


TABLE = {**REQUIRED, "source": "gs://bucket/source/columns.json"}
del TABLE["image_size"]


def test_a_source_that_ends_in_json_is_a_table():
    settings, _ = parse_flags([f"--{name}={value}" for name, value in TABLE.items()], "about")
    assert not isinstance(settings, ImageExportSettings)
    assert settings.shards == 8
    assert isinstance(parse()[0], ImageExportSettings)


@pytest.mark.parametrize(
    "flag",
    ["image_size=8", "channels=3", "encoding=png", "max_rejected=0", "split_fractions=1,1,98"],
)
def test_a_table_has_no_flags_of_images(capsys, flag):
    with pytest.raises(SystemExit):
        parse_flags([*(f"--{name}={value}" for name, value in TABLE.items()), f"--{flag}"], "about")
    assert f"--{flag.partition('=')[0]}: for images only" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--shard=3", "--image-size=8", "--max_reject=1", "--chanels"])
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
    for arguments in (["--help"], ["--image_size=0"]):
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
    assert required == set(TABLE)
    for parameter in offered.values():
        assert parameter["label"]
        assert parameter["helpText"]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("source", ["gs://bucket/a/b.csv", "gs://bucket/été.csv"], ["gs://bucket/", "a.csv"]),
        ("output", ["gs://bucket/a/", "gs://bucket/a"], ["bucket/a", "gs://Bucket/a"]),
        ("fingerprint", ["3f2a", "A-b_9"], ["", "a/b", "a b"]),
        ("image_size", ["1", "8", "128", "8192", "32x48"], ["0", "8x", "x8", "-1", "8.5", "0x8"]),
        ("channels", ["1", "3"], ["0", "2", "13"]),
        ("encoding", ["png", "jpeg"], ["gif", "pngx"]),
        ("resize", ["stretch", "letterbox", "crop"], ["fit", "cropped"]),
        ("scale", ["full", "range:-1,2.5", "percentiles:1,99"], ["max", "range:1", "percentiles"]),
        ("shards", ["1", "99999"], ["0", "100000", "1.5", ""]),
        ("max_rejected", ["0", "1", "0.05", "1.0"], ["5", "-0.1", "0.", "5%"]),
        ("split_fractions", ["80,10,10", "1,1,98"], ["80,20", "80,10,10,0", "a,b,c", "90,10,0"]),
        ("stratify", ["true", "false"], ["yes", "True", ""]),
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
