"""A storm: what it decides, and what clients of a real server see of it."""

import argparse
import collections
import json
import shlex
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_gcp import chaos_command as command
from local_gcp.__main__ import main
from local_gcp.chaos import storm
from local_gcp.chaos.storm import Fate, Rule, Storm

CREATE = "google.cloud.aiplatform.v1.JobService.CreateCustomJob"
INSERT = "POST bigquery.googleapis.com/bigquery/v2/projects/p/jobs"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "chaos.json"


def chaos(home, *options):
    """`local-gcp chaos OPTIONS`, without a process of its own; returns the exit code."""
    return main(["--home", str(home), "chaos", *options])


def fates(storm_, count, name=CREATE):
    return [storm_.fate(name).fault for _ in range(count)]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("createcustomjob", {CREATE}),
        ("POST *bigquery*/jobs", {INSERT}),
        ("JobService.*Job", {CREATE}),
        ("aiplatform.v2", set()),
    ],
)
def test_a_pattern_matches_a_part_of_the_name(pattern, names):
    rule = Rule([pattern])
    assert {name for name in (CREATE, INSERT) if rule.matches(name)} == names


@given(
    shares=st.lists(st.floats(0, 1 / 3), min_size=3, max_size=3),
    draws=st.lists(st.floats(0, 1, exclude_max=True), min_size=1),
)
def test_a_fault_is_drawn_by_its_share(shares, draws):
    rule = Rule((), 0, *shares)
    for draw in draws:
        fault = rule.fault(draw)
        if fault is None:
            assert draw >= sum(shares) - 1e-9
        else:
            assert shares[["503", "429", "lost"].index(fault)] > 0


def test_the_same_seed_hits_the_same_requests_in_about_the_stated_shares(file):
    storm.write(file, [Rule((), 0.2, 0.05, 0.05, 0.02)])
    first, again = fates(Storm(file), 2000), fates(Storm(file), 2000)
    assert first == again
    counts = collections.Counter(first)
    assert counts["503"] == pytest.approx(100, abs=35)
    assert counts["429"] == pytest.approx(100, abs=35)
    assert counts["lost"] == pytest.approx(40, abs=25)
    storm.write(file, [Rule((), 0.2, 0.05, 0.05, 0.02, seed=1)])
    assert fates(Storm(file), 2000) != first


def test_rules_are_added_changed_and_taken_away_while_a_server_runs(file):
    running = Storm(file)
    assert running.fate(CREATE) == Fate()
    storm.write(file, [Rule(["Create"], latency=0.5)])
    assert running.fate(CREATE) == Fate(0.5)
    storm.write(file, [*storm.read(file), Rule([], 0.25, lost=1)])
    assert running.fate(CREATE) == Fate(0.75, "lost")
    assert running.fate("google.x.Get") == Fate(0.25, "lost")
    assert [rule["met"]["requests"] for rule in running.describe()] == [2, 2]
    storm.write(file, [])
    assert running.fate(CREATE) == Fate()


def test_a_rule_ends_after_its_time(file):
    storm.write(file, [Rule((), lost=1, until=time.time() + 0.2)])
    running = Storm(file)
    assert running.fate(CREATE).fault == "lost"
    time.sleep(0.25)
    assert running.fate(CREATE).fault is None
    assert running.describe() == storm.read(file) == []


@pytest.mark.parametrize("text", ["101%", "-1%", "1.5"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="not a share"):
        command._share(text)


def test_the_command_refuses_what_does_nothing_or_too_much(tmp_path, capsys):
    assert chaos(tmp_path, "--method", "Create") == 1
    assert "Nothing would happen" in capsys.readouterr().err
    assert chaos(tmp_path, "--503", "60%", "--lost", "60%") == 1
    assert "more than 100%" in capsys.readouterr().err


@pytest.fixture(scope="module")
def server(tmp_path_factory, local_gcp_environments):
    """A local_gcp for the storms of this module."""
    from local_gcp.testing import LocalGcp

    local_gcp = LocalGcp(tmp_path_factory.mktemp("chaos"), local_gcp_environments)
    local_gcp.up()
    yield local_gcp
    local_gcp.down()


@pytest.fixture
def strike(server):
    """strike("--lost", "100%", ...): one rule more until the end of the test."""
    yield lambda *options: chaos(server.home, *options)
    chaos(server.home, "--off")


def insert_bucket(server, name):
    """The status of a plain request that creates a bucket."""
    url = f"{server.client_env['LOCAL_GCP_URL']}/storage/v1/b?project=local-gcp"
    request = urllib.request.Request(
        url,
        json.dumps({"name": name}).encode(),
        headers={"Content-Type": "application/json", "Host": "storage.googleapis.com"},
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_http_requests_are_refused_with_googles_errors_and_nothing_is_done(server, strike):
    strike("--method", "storage.googleapis.com", "--429", "100%")
    assert insert_bucket(server, "refused") == 429
    assert not (server.buckets / "refused").exists()
    strike("--off")
    strike("--503", "1")
    assert insert_bucket(server, "refused") == 503
    assert not (server.buckets / "refused").exists()


def test_an_http_request_whose_answer_is_lost_is_executed(server, strike):
    strike("--lost", "100%")
    with pytest.raises((ConnectionError, urllib.error.URLError)):
        insert_bucket(server, "lost")
    assert (server.buckets / "lost").is_dir()
    strike("--off")
    assert insert_bucket(server, "lost") == 409


def test_a_client_of_grpc_sees_unavailable_though_the_job_was_created(server, strike):
    strike("--method", "CreateDataset", "--lost", "100%")
    program = Path(__file__).with_name("programs") / "chaos_client.py"
    told = json.loads(server.run(program).splitlines()[-1])
    assert told == {"error": "ServiceUnavailable", "datasets": 1}
    (rule,) = server.status()["storm"]
    assert rule["met"] == {"requests": 1, "lost": 1}
    shown = server.command("status").stdout.splitlines()
    (line,) = (line for line in shown if line.startswith("storm  lost 1 "))
    assert "CreateDataset" in line
    assert line.endswith("1 requests: 1 lost")


def test_latency_is_waited(server, strike):
    strike("--latency", "700")
    began = time.monotonic()
    insert_bucket(server, "slow")
    assert time.monotonic() - began > 0.7


@pytest.mark.slow
def test_a_storm_is_set_before_the_start_and_outlives_kill_9(new_local_gcp):
    server = new_local_gcp()
    server.command("chaos", "--503", "100%")
    server.up()
    assert insert_bucket(server, "after") == 503
    server.kill()
    server.up()
    assert insert_bucket(server, "after") == 503
    server.command("chaos", "--off")
    assert insert_bucket(server, "after") == 200


def test_the_examples_of_the_help_are_commands(tmp_path):
    lines = command.EXAMPLES.splitlines()
    examples = [line.split("  ")[1] for line in lines if line.startswith("  local-gcp chaos ")]
    assert len(examples) == 5
    for example in examples:
        assert main(["--home", str(tmp_path), *shlex.split(example)[1:]]) == 0
