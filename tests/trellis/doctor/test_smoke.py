"""Two small jobs, really run."""

import io

import pytest

from trellis.doctor import smoke

# The trainer's commands without TensorFlow (tests/trellis/images.yaml).
QUICK = {"registry": "example.com/stand-in"}


@pytest.mark.parametrize(
    "registry", [QUICK, pytest.param({}, marks=pytest.mark.slow, id="the trainer itself")]
)
def test_both_jobs_run_and_nothing_is_left(target, google, registry):
    out = io.StringIO()
    assert smoke.run(target(**registry), out) == [], out.getvalue()
    assert out.getvalue().count("good") == 2
    assert not list((google.buckets / "doctor/doctor").rglob("*.*"))


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("raise SystemExit('the bucket cannot be read')", "the bucket cannot be read"),
        ("pass", "it left no gs://doctor/doctor/"),
    ],
)
def test_a_job_that_fails_is_reported(target, monkeypatch, program, problem):
    monkeypatch.setattr(smoke, "_COPY", program)
    out = io.StringIO()
    (finding,) = smoke.run(target(**QUICK), out)
    link = "https://console.cloud.google.com/agent-platform/locations/us-central1/training/"
    assert finding.problem.startswith(f"Custom job on Vertex AI failed: {link}")
    assert problem in finding.problem
    assert finding.problem.split()[-1] in out.getvalue()


def test_images_that_are_not_there(target):
    findings = smoke.run(target(registry="example.com/nobody"), io.StringIO())
    problems = {finding.problem.partition(" on ")[0]: finding.problem for finding in findings}
    assert set(problems) == {"Export", "Custom job"}
    assert all("example.com/nobody" in problem for problem in problems.values())
