"""images.yaml: the local environment of an image."""

from pathlib import Path

import pytest

from local_gcp.jobs.images import Image, ImageError, find_image


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes the file that $LOCAL_GCP_IMAGES names."""

    def write(text):
        file = tmp_path / "images.yaml"
        file.write_text(text)
        monkeypatch.setenv("LOCAL_GCP_IMAGES", str(file))
        return file

    return write


def test_of_several_files_the_first_match_counts(own, tmp_path, monkeypatch):
    first = own("- {image: 'us/app/*', bin: /bin, workdir: '${HERE}/app'}")
    second = tmp_path / "second.yaml"
    second.write_text("[{image: 'us/*', bin: /usr}, {image: 'us/app/*', bin: /no}]")
    monkeypatch.setenv("LOCAL_GCP_IMAGES", f"{first}:{second}")
    assert find_image("us/app/job:1").workdir == f"{tmp_path}/app"
    assert find_image("us/other:1").bin == "/usr"


def test_an_image_that_is_named_by_its_digest_is_one_of_its_name(own, tmp_path):
    own(f'- {{image: "r/trainer:*", bin: {tmp_path}}}\n- {{image: "r/serve:1", bin: {tmp_path}}}')
    assert find_image(f"r/serve@sha256:{'0' * 64}").image == "r/serve:1"
    with pytest.raises(ImageError, match="no local environment for the image r/other@sha256"):
        find_image(f"r/other@sha256:{'0' * 64}")


def test_the_program_that_serves_saved_models_has_a_name(own):
    own("- {image: 'tf', bin: /bin, entrypoint: [python, '${SAVEDMODEL_SERVER}']}")
    assert Path(find_image("tf").entrypoint[1]).is_file()


def test_command_replaces_entrypoint_and_args_replace_cmd():
    image = Image("x", "/bin", entrypoint=["python", "train.py"], cmd=["--help"])
    assert image.command([], []) == ["python", "train.py", "--help"]
    assert image.command([], ["--epochs", "3"]) == ["python", "train.py", "--epochs", "3"]
    assert image.command(["sh", "-c"], ["ls"]) == ["sh", "-c", "ls"]
    # As in Kubernetes, CMD belongs to ENTRYPOINT.
    assert image.command(["sh"], []) == ["sh"]


def test_the_images_programs_come_first_in_path():
    environment = Image("x", "/env/bin", env={"A": "b"}).environment()
    assert environment["PATH"].startswith("/env/bin:/usr/local/sbin:")
    assert environment["A"] == "b"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("image: x", "expected a list of images"),
        ("- {image: x}", "image 1: expected a mapping with `image` and either `bin` or `oci`"),
        ("- {image: x, bin: /b, entrypint: [a]}", "image 1: unknown key 'entrypint'; there are"),
        ("- {image: x, bin: /b, preload: numpy}", "image 1: preload is 'numpy'; expected a list"),
        ("- {image: x, bin: /b, preload: [a b]}", "image 1: preload is ['a b']; expected a list"),
        ("- [", "while parsing"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(own, text, complaint):
    file = own(text)
    with pytest.raises(ImageError) as refusal:
        find_image("us/app/job:1")
    assert str(file) in str(refusal.value)
    assert complaint in str(refusal.value)


def test_an_unknown_image_is_refused_with_the_known_patterns(own):
    own("- {image: 'mine/*', bin: /bin}")
    with pytest.raises(ImageError, match=r"gcr\.io/other:1") as refusal:
        find_image("gcr.io/other:1")
    assert "mine/*" in str(refusal.value)
    assert "$LOCAL_GCP_IMAGES" in str(refusal.value)


def test_without_a_file_the_refusal_says_how_to_give_one(monkeypatch):
    monkeypatch.delenv("LOCAL_GCP_IMAGES", raising=False)
    with pytest.raises(ImageError, match=r"Known patterns: none\..*up --images FILE"):
        find_image("gcr.io/other:1")


def test_a_folder_that_does_not_exist_is_named(own):
    own("- {image: 'mine/*', bin: /no/such/bin}")
    with pytest.raises(
        ImageError, match="/no/such/bin, the environment for mine/x, does not exist"
    ):
        find_image("mine/x")


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCAL_GCP_IMAGES", str(tmp_path / "images.yaml"))
    with pytest.raises(ImageError) as refusal:
        find_image("gcr.io/other:1")
    assert str(refusal.value) == f"{tmp_path / 'images.yaml'}: No such file or directory."
