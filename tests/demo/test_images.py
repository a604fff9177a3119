"""The local replacement of the job image."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


OURS = ("export", "trainer", "serve")


def path(text):
    return Path(text.replace("${HERE}", str(ROOT / "demo"))).resolve()


def entries():
    found = yaml.safe_load((ROOT / "demo/images.yaml").read_text())
    return {entry["image"]: entry for entry in found}


def test_each_image_of_ours_is_the_trainers_environment():
    for name in OURS:
        image = entries()[f"*/trellis/{name}:*"]
        assert path(image["bin"]) == ROOT / ".venv/trainer/bin"
        assert path(image["workdir"]) == path(image["env"]["PYTHONPATH"]) == ROOT
    program = entries()["*/trellis/export:*"]["env"]["FLEX_TEMPLATE_PYTHON_PY_FILE"]
    assert path(program).is_file()


def test_each_image_of_the_examples_is_an_environment_of_its_own():
    names = {file.stem for file in (ROOT / "dags/experiments/images").glob("*.txt")}
    # Images that know nothing of Trellis have other patterns, and environments without it.
    ours = {pattern for pattern in entries() if pattern.startswith("*/trellis/")}
    assert {f"*/trellis/{name}:*" for name in {*names, *OURS}} == ours
    for name in names:
        assert path(entries()[f"*/trellis/{name}:*"]["bin"]) == ROOT / f".venv/images/{name}/bin"


def test_tensorflow_is_preloaded_where_programs_need_it():
    for name in ("trainer", "serve"):
        image = entries()[f"*/trellis/{name}:*"]
        packages = path(image["bin"]).parent.glob("lib/python*/site-packages/*")
        assert {"tensorflow", "keras"} == set(image["preload"]) <= {file.name for file in packages}
        # The libraries log at their import, before the program can say that it wants no such lines.
        assert image["env"]["TF_CPP_MIN_LOG_LEVEL"] == "3"
