"""Versions of the libraries that made the figures, and the fingerprint of the code that did."""

import shutil
from pathlib import Path

import keras
import pytest
import tensorflow as tf

import trainer
import trellis_contracts
from trainer.comparison import provenance


def test_versions_are_those_that_are_imported():
    """Whichever distribution TensorFlow comes from: tensorflow, or tensorflow-cpu."""
    versions = provenance.versions()
    assert versions["tensorflow"] == tf.__version__
    assert versions["keras"] == keras.__version__


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
