"""A run in a storm: requests of every service are slow, refused, or executed and not answered.

The run is green, nothing is submitted twice, and the winner is that of a calm run, weights and all.
"""

import subprocess

import pytest

from testbed.local_run import ROOT
from tests.end_to_end import contended

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

STORM = ("--503", "5%", "--429", "5%", "--lost", "2%", "--latency", "200")


def test_a_run_succeeds_in_a_storm(calm_winner):
    with contended.new_demo() as demo:
        local_gcp = [ROOT / ".venv/local_gcp/bin/python", "-m", "local_gcp"]
        command = [*local_gcp, "--home", demo.local / "gcp", "chaos"]
        subprocess.run([*command, *STORM], check=True)
        met: dict[str, int] = {}

        def end_of_the_storm():
            met.update(demo.status()["storm"][0]["met"])
            subprocess.run([*command, "--off"], check=True)

        run = contended.check_run(demo, end_of_the_storm)
        print(met)
        assert contended.winner(run) == calm_winner
        assert min(met[fault] for fault in ("503", "429", "lost")) > 0
