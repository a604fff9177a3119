"""Facts of the real Vertex AI and BigQuery ML, from notebooks, issues and pages, hold here, too."""

import collections
import json
import uuid
from pathlib import Path

import pytest

from tests.conformance.exceptions import Exceptions
from tests.conformance.holds import holds

HERE = Path(__file__).parent
FACTS = [json.loads(line) for line in (HERE / "observed/facts.jsonl").read_text().splitlines()]
COLUMNS = ("same", "refused", "exception", "untried", "wrong")


@pytest.fixture(scope="module")
def observations(local_gcp):
    """All observations of programs/observe_*.py, by name."""
    found = {}
    for program in sorted((HERE / "programs").glob("observe_*.py")):
        unique = f"{program.stem.removeprefix('observe_')}{uuid.uuid4().hex[:8]}"
        seen = json.loads(local_gcp.run(program, unique, timeout=400).splitlines()[-1])
        assert not seen.keys() & found.keys()
        found |= seen
    return found


def judged(fact, observations, exceptions):
    """(column of the table, what is wrong)."""
    if "untried" in fact:
        return "untried", []
    answers = [(answer, observations[answer["observation"]]) for answer in fact["answers"]]
    if any(isinstance(seen, dict) and "refused" in seen for _, seen in answers):
        return "refused", []
    differing = [(answer, seen) for answer, seen in answers if not holds(answer, seen)]
    if not differing:
        return "same", []
    call = {"service": fact["service"], "method": "", "url": ""}
    unnamed = [
        f"{fact['origin']} ({fact['seen']})\n  {answer}\n  here: {seen}"
        for answer, seen in differing
        if not exceptions.of(fact["origin"], call, answer["observation"])
    ]
    return ("wrong", unnamed) if unnamed else ("exception", [])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_facts(observations):
    exceptions = Exceptions.read(HERE / "observed/exceptions")
    table, wrong = collections.Counter(), []
    for fact in FACTS:
        column, problems = judged(fact, observations, exceptions)
        table[fact["service"], column] += 1
        wrong += problems
    print("\n" + shown(table))
    assert not wrong, "\n".join(wrong)
    assert not exceptions.unused()


@pytest.mark.slow
def test_what_is_refused_is_named(observations):
    refusals = [
        v["refused"] for v in observations.values() if isinstance(v, dict) and "refused" in v
    ]
    assert refusals
    assert [text for text in refusals if not text.startswith("local_gcp does not emulate ")] == []


def test_each_fact_has_origin_and_answers_or_a_reason():
    for fact in FACTS:
        assert fact["origin"], fact
        assert ("untried" in fact) != ("answers" in fact), fact
        assert fact.get("untried", "reason").strip(), fact


@pytest.mark.parametrize(
    ("answer", "seen", "expected"),
    [
        ({"is": "a <digits>.<text>"}, "a 12.\nb", True),
        ({"is": "a <digits>.<text>"}, "a 12,b", False),
        ({"is": {"a": [1, "<digits>"]}}, {"a": [1, "2"]}, True),
        ({"is": {"a": 1}}, {"a": 1, "b": 2}, False),
        ({"is": {}}, {"a": 1}, False),
        ({"is": ["a"]}, ["a", "b"], False),
        ({"is": True}, 1, False),
        ({"has": {"a": 1}}, {"a": 1, "b": 2}, True),
        ({"has": {"a": 1}}, {"b": 2}, False),
        ({"has": {"a": ["x"]}}, {"a": ["y", "x"]}, True),
        ({"has": ["a", "b"]}, ["b", "c", "a"], True),
        ({"has": ["a", "b"]}, ["b", "c"], False),
        ({"in order": ["a", "c"]}, ["a", "b", "c"], True),
        ({"in order": ["c", "a"]}, ["a", "b", "c"], False),
    ],
)
def test_a_fact_holds_or_not(answer, seen, expected):
    assert holds(answer, seen) is expected


def shown(table):
    """The table of README.md."""
    rows = [f"| service | facts | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * 6]
    for service in sorted({service for service, _ in table}):
        counts = [table[service, column] for column in COLUMNS]
        rows.append(f"| {service} | {' | '.join(map(str, [sum(counts), *counts]))} |")
    return "\n".join(rows)
