"""The local replacement of the job image."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_the_job_image_is_the_trainers_environment():
    (image,) = yaml.safe_load((ROOT / "demo" / "images.yaml").read_text())

    def path(text):
        return Path(text.replace("${HERE}", str(ROOT / "demo"))).resolve()

    assert image["image"] == "*/trellis/*"
    assert path(image["bin"]) == ROOT / ".venv/trainer/bin"
    assert path(image["workdir"]) == path(image["env"]["PYTHONPATH"]) == ROOT
    assert path(image["env"]["FLEX_TEMPLATE_PYTHON_PY_FILE"]).is_file()
