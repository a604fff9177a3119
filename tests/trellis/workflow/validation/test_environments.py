"""Images of one's own on one machine: `trellis check` prints the line that local_gcp lacks."""

import re
import shutil

import pytest
import yaml

from tests.airflow_side import ROOT
from trellis.__main__ import main

BOOSTING = (ROOT / "dags/experiments/gradient-boosting.yaml").read_text()
PLATFORM = (ROOT / "dags/platform.yaml").read_text()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """The folder of a checkout's DAG files; its experiment has an image of its own."""
    monkeypatch.delenv("LOCAL_GCP_IMAGES", raising=False)
    (tmp_path / "dags/experiments/images").mkdir(parents=True)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/images.yaml").write_text((ROOT / "demo/images.yaml").read_text())
    (tmp_path / "dags/platform.yaml").write_text(PLATFORM)
    (tmp_path / "dags/experiments/images/deep.txt").write_text("einops==0.8.2\n")
    file = ROOT / "dags/experiments/gradient_boosting.py"
    (tmp_path / "dags/experiments/gradient_boosting.py").write_text(file.read_text())
    (tmp_path / "dags/experiments/cells.yaml").write_text(f"image: deep\n{BOOSTING}")
    return tmp_path


def checked(checkout, capsys):
    code = main(["check", str(checkout / "dags/experiments/cells.yaml")])
    written = capsys.readouterr()
    return code, written.out + written.err


def test_the_missing_line_is_printed_and_mends_it(checkout, capsys):
    code, text = checked(checkout, capsys)
    assert code == 1
    assert "line 1, image: no line of" in text
    (line,) = [one.strip() for one in text.splitlines() if one.strip().startswith("- {")]
    images = checkout / "demo/images.yaml"
    images.write_text(f"{images.read_text()}{line}\n")
    assert checked(checkout, capsys)[0] == 0
    own = yaml.safe_load(images.read_text())[-1]
    (trainer,) = [one for one in yaml.safe_load(images.read_text()) if "/trainer:" in one["image"]]
    assert own == {**trainer, "image": "*/trellis/deep:*", "bin": own["bin"]}
    assert own["bin"].endswith("/.venv/images/deep/bin")


def test_the_line_of_a_programs_image_names_its_address(checkout, capsys):
    """The environment is the group's own to make: FOLDER stands for it."""
    address = "example.com/programs/ours:3"
    text = (ROOT / "dags/experiments/neighbours.yaml").read_text()
    (known,) = [line for line in text.splitlines() if line.startswith("image: ")]
    (checkout / "dags/experiments/cells.yaml").write_text(text.replace(known, f"image: {address}"))
    shutil.copy(ROOT / "dags/experiments/neighbours.py", checkout / "dags/experiments")
    code, text = checked(checkout, capsys)
    assert code == 1
    assert re.search(rf"image: no line of .* stands for {address}; add this one", text)
    (line,) = [one.strip() for one in text.splitlines() if one.strip().startswith("- {")]
    assert yaml.safe_load(line) == [{"image": address, "bin": "FOLDER"}]
    images = checkout / "demo/images.yaml"
    images.write_text(f"{images.read_text()}{line}\n")
    assert checked(checkout, capsys)[0] == 0


def test_a_line_in_a_file_of_the_environment_counts_as_for_local_gcp(checkout, capsys, monkeypatch):
    more = checkout / "more.yaml"
    more.write_text('- {image: "*/deep:*", bin: /opt/deep/bin}\n')
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(more))
    assert checked(checkout, capsys)[0] == 0


@pytest.mark.parametrize("content", ["{image: a}\n", "- [a]\n", "- {bin: b}\n", "a: [\n", None])
def test_a_file_that_is_no_list_of_images_is_named(checkout, capsys, content):
    images = checkout / "demo/images.yaml"
    images.unlink() if content is None else images.write_text(content)
    code, text = checked(checkout, capsys)
    assert code == 1
    assert str(images) in text


def test_where_no_file_is_named_nothing_is_asked(checkout, capsys):
    platform = PLATFORM.replace("images: ../demo/images.yaml\n", "")
    (checkout / "dags/platform.yaml").write_text(platform)
    assert checked(checkout, capsys)[0] == 0
