"""What limited a training, by the time of its epochs."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellis_contracts.speed import (
    COMPUTING,
    PARTS,
    Device,
    Speed,
    examples_per_second,
    limit,
    shares,
    straggler,
    usage,
)


def epoch(number: int = 2, seconds: float = 10.0, **parts: float | None) -> Speed:
    known = {"input": 0.0, "communication": 0.0, "evaluation": 0.0, "checkpoints": 0.0, **parts}
    return Speed(epoch=number, seconds=seconds, examples=100.0, cpu=0.5, memory=1, **known)


@pytest.mark.parametrize("part", PARTS)
def test_the_largest_part_is_the_limit(part):
    found = limit([epoch(**{part: 6.0})], {})
    assert (found.name, found.share) == (part, pytest.approx(0.6))


def test_the_rest_is_computing():
    found = limit([epoch(input=1.0, evaluation=2.0)], {})
    assert (found.name, found.share) == (COMPUTING, pytest.approx(0.7))


def test_the_advice_for_a_machine_with_gpus_is_another():
    row = epoch()
    on_gpu = Speed(**{**vars(row), "devices": (Device(use=0.9, memory=1),)})
    assert limit([row], {}).advice != limit([on_gpu], {}).advice


@pytest.mark.parametrize(
    ("read", "advised"), [((100, 90), True), ((100, 1), False), ((None, None), False)]
)
def test_examples_that_are_decoded_again_are_to_be_kept(read, advised):
    rows = [
        dataclasses.replace(epoch(number, input=9.0), read=count)
        for number, count in enumerate(read, 1)
    ]
    assert ("more memory or a larger disk" in limit(rows, {}).advice) is advised


def test_the_first_epoch_counts_only_where_it_is_the_only_one():
    first, second = epoch(1, input=9.0), epoch(2, input=1.0)
    assert shares([first])["input"] == pytest.approx(0.9)
    assert shares([first, second])["input"] == pytest.approx(0.1)
    assert examples_per_second([first, second]) == 100


def test_what_was_not_measured_is_not_zero():
    rows = [epoch(input=None, communication=None, evaluation=2.0)]
    found = shares(rows)
    assert found["input"] is None
    assert found[COMPUTING] is None
    assert found["evaluation"] == pytest.approx(0.2)
    assert limit(rows, {}) is None
    assert "input" not in rows[0].to_document()


def test_what_a_training_used():
    devices = (Device(use=0.2, memory=3_000_000_000), Device(use=0.9, memory=1_000_000))
    rows = [dataclasses.replace(epoch(n), read=40_000_000, devices=devices) for n in (1, 2)]
    rows[1] = dataclasses.replace(rows[1], cpu=0.25, memory=2_000_000)
    used = usage(rows)
    assert (used["CPU"], used["memory"], used["read"]) == ("25%", "2.0 MB", "80.0 MB")
    assert used["GPU"] == "20%, 3.0 GB; 90%, 1.0 MB"
    unknown = usage([epoch()])
    assert unknown["read"] == unknown["GPU"] == "not measured"
    figures = rows[1].figures()
    assert (figures["read_bytes"], figures["gpu_1_memory"]) == (40_000_000, 1_000_000)


@given(st.lists(st.floats(0, 10), min_size=4, max_size=4))
def test_shares_are_of_the_whole_time(parts):
    row = epoch(seconds=sum(parts) + 1, **dict(zip(PARTS, parts, strict=True)))
    assert sum(shares([row]).values()) == pytest.approx(1)


def test_a_process_for_which_the_others_wait_is_named():
    computed = {"chief:0": 10.0, "worker:0": 20.0, "worker:1": 11.0}
    name, times = straggler(computed)
    assert name == "worker:0"
    assert times == pytest.approx(20 / 10.5)
    assert "worker:0" in limit([epoch(communication=5.0)], computed).advice


@pytest.mark.parametrize(
    "computed",
    [
        {"chief:0": 10.0},
        {"chief:0": 10.0, "worker:0": 11.0},
        {"chief:0": None, "worker:0": 11.0},
    ],
)
def test_equal_processes_have_no_straggler(computed):
    assert straggler(computed) is None
