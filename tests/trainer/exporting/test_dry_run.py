"""`--dry-run`: says what an export would write, and writes nothing."""

import re

import cv2
import numpy as np
import pytest

from testbed.manifests import export_flags
from tests.trainer.exporting.tables.helpers import SMALL, run, small, write_table
from trainer import dataset_description, export
from trainer.exporting import dry_run
from trellis_contracts.dataset import SPLITS


@pytest.fixture
def images(tmp_path):
    """A manifest of 60 images of noise in two classes."""
    random = np.random.default_rng(0)
    lines = []
    for number in range(60):
        pixels = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        (tmp_path / f"{number}.png").write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
        lines.append(f"{number}.png,{number % 2}\n")
    (tmp_path / "manifest.csv").write_text("".join(lines))
    return tmp_path


def run_images(folder, *others):
    form = {"image_size": 8, "encoding": "png", "shards": 3}
    flags = export_flags(folder / "manifest.csv", folder / "dataset", "f", **form)
    return export.main([*flags, *others])


def said(capsys):
    """The splits, whether they are exact, and megabytes."""
    text = capsys.readouterr().out
    splits = r"splits: (about )?(\d+) train, (\d+) validation, (\d+) test"
    about, *counts = re.search(splits, text).groups()
    megabytes = float(re.search(r"bytes: about ([\d.]+) MB", text)[1])
    assert re.search(r"time: about \d+ s and its start, on this machine", text)
    return dict(zip(SPLITS, map(int, counts), strict=True)), not about, megabytes


def sizes(dataset):
    return {split: dataset.examples(split) for split in SPLITS}


def test_of_a_small_table_all_is_known(tmp_path, capsys):
    source = write_table(tmp_path / "source", small(), SMALL)
    assert run(source, tmp_path / "dataset", "--dry-run") == 0
    assert not (tmp_path / "dataset").exists()
    told = said(capsys)
    assert run(source, tmp_path / "dataset") == 0
    dataset = dataset_description.load(str(tmp_path / "dataset"))
    assert told == (sizes(dataset), True, round(dataset.bytes / 1e6, 1))


def test_of_a_large_table_the_first_rows_are_exported(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(dry_run, "_ROWS", 150)
    source = write_table(tmp_path / "source", small(), SMALL, files=3)
    assert run(source, tmp_path / "dataset", "--dry-run") == 0
    splits, exact, _ = said(capsys)
    assert not exact
    assert sum(splits.values()) == pytest.approx(300, abs=2)
    assert splits["train"] == pytest.approx(240, abs=20)


def test_a_refusal_says_how_many_rows_were_looked_at(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(dry_run, "_ROWS", 1)
    rows = small(label=["benign"] * 300)
    source = write_table(tmp_path / "source", rows, SMALL, files=3)
    assert run(source, tmp_path / "dataset", "--dry-run") == 1
    error = capsys.readouterr().err
    assert "of the first 100 of 300 rows: the label" in error
    assert not (tmp_path / "dataset").exists()


def test_of_images_too_all_is_known(images, capsys):
    assert run_images(images, "--dry-run") == 0
    assert not (images / "dataset").exists()
    expected = said(capsys)
    assert run_images(images) == 0
    dataset = dataset_description.load(str(images / "dataset"))
    assert expected == (sizes(dataset), True, round(dataset.bytes / 1e6, 1))


def test_images_that_cannot_be_read_are_refused(images, capsys):
    for number in range(60):
        (images / f"{number}.png").write_bytes(b"no image")
    assert run_images(images, "--dry-run") == 1
    assert "60 of 60 rows are rejected" in capsys.readouterr().err
    assert not (images / "dataset").exists()
