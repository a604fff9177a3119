"""images.yaml: which local environment plays an image."""

import sys
from pathlib import Path

import pytest

from local_gcp import images
from local_gcp.images import Image, ImageError, find_image, read_images

ROOT = Path(__file__).parents[2]


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes the file that $LOCAL_GCP_IMAGES names."""

    def write(text):
        file = tmp_path / "images.yaml"
        file.write_text(text)
        monkeypatch.setenv("LOCAL_GCP_IMAGES", str(file))
        return file

    return write


def test_the_job_image_is_played_by_the_trainers_environment():
    entries = {image.image: image for image in read_images(images.BUILT_IN)}
    image = entries["*/trellis/*"]
    assert Path(image.bin).resolve() == ROOT / ".venv/trainer/bin"
    assert Path(image.workdir).resolve() == ROOT
    assert Path(image.env["PYTHONPATH"]).resolve() == ROOT


@pytest.mark.parametrize(
    "uri",
    [
        "us-docker.pkg.dev/vertex-ai/training/tf-cpu.2-17.py310:latest",
        "europe-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
        "us-docker.pkg.dev/vertex-ai/training/scikit-learn-cpu.0-23:latest",  # its older name
        "gcr.io/cloud-aiplatform/training/tf-cpu.2-2:latest",
    ],
)
def test_googles_training_images_are_played(uri, monkeypatch):
    monkeypatch.delenv("LOCAL_GCP_IMAGES", raising=False)
    assert Path(find_image(uri).bin).resolve() == ROOT / ".venv/trainer/bin"


def test_an_own_file_comes_before_the_built_in_one(own):
    file = own(f"- {{image: 'us/trellis/*', bin: {sys.prefix}/bin, workdir: '${{HERE}}/app'}}")
    image = find_image("us/trellis/job:1")
    assert image.bin == f"{sys.prefix}/bin"
    assert image.workdir == f"{file.parent}/app"


def test_command_replaces_entrypoint_and_args_replace_cmd():
    image = Image("x", "/bin", entrypoint=["python", "train.py"], cmd=["--help"])
    assert image.command([], []) == ["python", "train.py", "--help"]
    assert image.command([], ["--epochs", "3"]) == ["python", "train.py", "--epochs", "3"]
    assert image.command(["sh", "-c"], ["ls"]) == ["sh", "-c", "ls"]
    assert image.command(["sh"], []) == ["sh"], "as in Kubernetes, CMD belongs to ENTRYPOINT"


def test_the_images_programs_come_first_in_path():
    environment = Image("x", "/env/bin", env={"A": "b"}).environment()
    assert environment["PATH"].startswith("/env/bin:/usr/local/sbin:")
    assert environment["A"] == "b"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("image: x", "expected a list of images"),
        ("- {image: x}", "image 1: expected a mapping with `image` and `bin`"),
        ("- {image: x, bin: /b, entrypint: [a]}", "image 1: unknown key 'entrypint'; there are"),
        ("- [", "while parsing"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(own, text, complaint):
    file = own(text)
    with pytest.raises(ImageError) as refusal:
        find_image("us/trellis/job:1")
    assert str(file) in str(refusal.value)
    assert complaint in str(refusal.value)


def test_an_unknown_image_is_refused_with_the_known_patterns(own):
    own("- {image: 'mine/*', bin: /bin}")
    with pytest.raises(ImageError, match=r"gcr\.io/other:1") as refusal:
        find_image("gcr.io/other:1")
    assert "mine/*" in str(refusal.value)
    assert "$LOCAL_GCP_IMAGES" in str(refusal.value)


def test_an_environment_that_is_not_installed_is_named(own):
    own("- {image: 'mine/*', bin: /no/such/bin}")
    with pytest.raises(ImageError, match=r"/no/such/bin.*make setup"):
        find_image("mine/x")
