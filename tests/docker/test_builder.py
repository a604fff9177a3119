"""Leftovers of the builder."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.docker import builder


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_mounts_are_given_up_so_that_make_clean_can_delete_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(builder, "FOLDER", tmp_path)
    mount = tmp_path / "storage/overlay"
    mount.mkdir(parents=True)
    # As buildah does: the folder on itself.
    if subprocess.run(["mount", "--bind", mount, mount], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    builder.release()
    assert str(mount) not in Path("/proc/self/mounts").read_text()
