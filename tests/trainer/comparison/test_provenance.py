"""Versions of the libraries that made the figures, and the fingerprint of the code that did."""

import shutil
from pathlib import Path

import keras
import numpy as np
import PIL
import pytest
import tensorflow as tf

import trainer
import trellis_contracts
from trainer.comparison import provenance
from trainer.comparison.run_folder import read_run

LABELS = np.arange(20) % 2


def test_versions_are_those_that_are_imported(table_run):
    """Whichever distribution TensorFlow comes from: tensorflow, or tensorflow-cpu."""
    versions = provenance.versions(read_run(table_run(LABELS, ["no", "yes"]).uri))
    assert versions["tensorflow"] == tf.__version__
    assert versions["keras"] == keras.__version__


def test_what_a_models_own_file_imports_is_among_them(table_run, classifier):
    run = table_run(LABELS, ["no", "yes"])
    run.contender(1, classifier(LABELS, 2, skill=2, seed=1), model="net.py", model_sha256="ab" * 32)
    (run.path / "training/1/model").mkdir()
    text = "import joblib, no_such_library\nfrom sklearn import svm\nfrom PIL import Image\n"
    (run.path / "training/1/model/net.py").write_text(text)
    versions = provenance.versions(read_run(run.uri))
    assert [*versions][-2:] == ["joblib", "pillow"]
    assert versions["pillow"] == PIL.__version__


@pytest.mark.parametrize("package", [trainer, trellis_contracts])
def test_a_changed_file_of_either_package_changes_the_fingerprint(tmp_path, monkeypatch, package):
    folders = [Path(each.__file__).parent for each in (trainer, trellis_contracts)]
    copies = [shutil.copytree(folder, tmp_path / folder.name) for folder in folders]
    monkeypatch.setattr(provenance, "_PACKAGES", copies)
    before = provenance.code_sha256()
    changed = tmp_path / Path(package.__file__).parent.name / "__init__.py"
    changed.write_text(f"{changed.read_text()}\n# changed\n")
    assert provenance.code_sha256() != before


def test_the_fingerprint_is_of_the_packages_that_run():
    names = {folder.name for folder in provenance._PACKAGES}
    assert names == {"trainer", "trellis_contracts"}
