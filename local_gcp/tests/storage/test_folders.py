"""Listings of a folder are kept while the folder does not change."""

import os
import time

import pytest

from local_gcp.storage import folders


def test_files_and_folders_come_in_the_order_of_the_names_below_them(tmp_path):
    for name in ("a-b", "a0"):
        (tmp_path / name).touch()
    (tmp_path / "a").mkdir()
    assert folders.children(tmp_path) == ["a-b", "a/", "a0"]


def test_a_folder_without_changes_is_read_once(tmp_path, monkeypatch):
    (tmp_path / "a").touch()
    time.sleep(1.1)
    assert folders.children(tmp_path) == ["a"]

    monkeypatch.setattr(os, "scandir", None)
    assert folders.children(tmp_path) == ["a"]


def test_every_change_is_seen_at_once(tmp_path):
    time.sleep(1.1)
    assert folders.children(tmp_path) == []
    for number in range(200):
        (tmp_path / f"{number:03}").touch()
        assert len(folders.children(tmp_path)) == number + 1
    os.rename(tmp_path / "000", tmp_path / "200")
    assert folders.children(tmp_path)[::199] == ["001", "200"]
    time.sleep(1.1)
    assert len(folders.children(tmp_path)) == 200
    os.unlink(tmp_path / "200")
    assert len(folders.children(tmp_path)) == 199


def test_a_folder_of_the_same_name_is_another(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").touch()
    time.sleep(1.1)
    assert folders.children(folder) == ["old"]

    os.rename(folder, tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError):
        folders.children(folder)
    folder.mkdir()
    assert folders.children(folder) == []
