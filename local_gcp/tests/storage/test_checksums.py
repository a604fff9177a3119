"""Checksums of a file that grows, and of one whose end is written again."""

from pathlib import Path

import pytest

from local_gcp.storage.checksums import Checksums, RunningChecksums, checksums

BLOCK = bytes(range(256)) * 4096  # 1 MiB


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "file"


def of(path: Path) -> Checksums:
    with path.open("rb") as file:
        return checksums(file)


def test_known_values(path):
    path.write_bytes(b"123456789")  # its CRC-32C, e3069283, is the check value
    assert of(path) == Checksums("4waSgw==", "JfnnlDI7RTiF9RgfG2JNCw==")
    assert RunningChecksums(path).result() == of(path)


def test_a_file_that_grows_is_read_once(path):
    sums = RunningChecksums(path)
    with path.open("wb", buffering=0) as file:
        for size in range(1, 4):
            file.write(BLOCK)
            sums.written(size * len(BLOCK))
            sums.follow()
        file.write(b"end")
    expected = of(path)
    with path.open("r+b") as file:  # what is already summed is not read again
        file.write(b"?")
    assert sums.result() == expected


def test_only_what_is_said_to_be_written_counts(path):
    path.write_bytes(BLOCK + b"old")
    sums = RunningChecksums(path)
    sums.written(len(BLOCK))
    sums.follow()
    path.write_bytes(BLOCK + b"new")
    assert sums.result() == of(path)


@pytest.mark.parametrize("kept", [0, 1, len(BLOCK), 2 * len(BLOCK)])
def test_bytes_that_are_written_again(path, kept):
    path.write_bytes(2 * BLOCK)
    sums = RunningChecksums(path)
    sums.written(2 * len(BLOCK))
    sums.follow()
    sums.rewind(kept)
    path.write_bytes((2 * BLOCK)[:kept] + b"others")
    assert sums.result() == of(path)


def test_a_file_that_was_cut(path):
    path.write_bytes(2 * BLOCK)
    sums = RunningChecksums(path)
    sums.written(2 * len(BLOCK))
    sums.follow()
    path.write_bytes(BLOCK)
    assert sums.result() == of(path)


def test_following_a_file_that_is_gone_does_nothing(path):
    sums = RunningChecksums(path)
    sums.written(1)
    sums.follow()
