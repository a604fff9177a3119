"""projects.timeSeries.list over what was asked, and what it refuses."""

import json
from datetime import UTC, datetime

import pytest
from starlette.testclient import TestClient

from local_gcp.monitoring.app import monitoring_app
from local_gcp.monitoring.query import PREDICTIONS, QUOTA, RESOURCE, RESPONSES
from local_gcp.state import State
from local_gcp.vertex.endpoints.usage import RequestCounts, Usage

DAY, HOUR = 86_400, 3600
NOON = int(datetime(2026, 6, 15, 12, tzinfo=UTC).timestamp())
ENDPOINTS = "projects/100000000001/locations/{}/endpoints/{}"


def asked(seconds_ago, predictions, endpoint="digits", region="us-central1", **responses):
    name = ENDPOINTS.format(region, endpoint)
    responses = responses or {"2xx": predictions}
    minute = NOON - seconds_ago
    return RequestCounts(name, endpoint, "7", f"{endpoint} v1", minute, predictions, responses)


MINUTES = [
    asked(3 * DAY, 100),
    asked(2 * HOUR, 5),
    asked(HOUR, 7),
    asked(600, 1, **{"2xx": 1, "4xx": 2}),
    asked(600, 3, endpoint="iris"),
    asked(600, 9, region="europe-west4"),
]


CPUS = "aiplatform.googleapis.com/custom_model_training_cpus"
IN_USE = {("us-central1", CPUS): 12, ("europe-west4", CPUS): 4}


@pytest.fixture
def facts(tmp_path):
    return tmp_path / "project.json"


@pytest.fixture
def get(tmp_path, facts):
    """get(filter, **parameters): status and answer, for the day until noon."""
    usage = Usage(State(tmp_path / "state.db"))
    usage._minutes = {minute.name: minute for minute in MINUTES}
    app = monitoring_app("local-gcp", facts, usage, lambda: IN_USE)
    client = TestClient(app, base_url="https://monitoring.googleapis.com")

    def ask(filter_, project="local-gcp", start=NOON - DAY, end=NOON, **parameters):
        times = {"interval.startTime": start, "interval.endTime": end}
        texts = {n: datetime.fromtimestamp(t, UTC).isoformat() for n, t in times.items()}
        parameters = {name.replace("_", "."): value for name, value in parameters.items()}
        query = {"filter": filter_, **texts, **parameters}
        answer = client.get(f"/v3/projects/{project}/timeSeries", params=query)
        return answer.status_code, answer.json()

    return ask


COUNT = f'metric.type = "{PREDICTIONS}"'
HERE = f'{COUNT} AND resource.labels.location = "us-central1"'


def counts(answer):
    """Counts by endpoint, the newest first."""
    return {
        series["resource"]["labels"]["endpoint_id"]: [
            int(point["value"]["int64Value"]) for point in series["points"]
        ]
        for series in answer.get("timeSeries", ())
    }


def test_points_as_they_were_written(get):
    status, answer = get(HERE)
    assert status == 200
    assert counts(answer) == {"digits": [1, 7, 5], "iris": [3]}
    assert answer["timeSeries"][0] | {"points": answer["timeSeries"][0]["points"][:1]} == {
        "metric": {
            "type": PREDICTIONS,
            "labels": {
                "deployed_model_id": "7",
                "endpoint_display_name": "digits",
                "model_display_name": "digits v1",
                "spot": "False",
            },
        },
        "resource": {
            "type": "aiplatform.googleapis.com/Endpoint",
            "labels": {
                "resource_container": "local-gcp",
                "location": "us-central1",
                "endpoint_id": "digits",
            },
        },
        "metricKind": "DELTA",
        "valueType": "INT64",
        "points": [
            {
                "interval": {
                    "startTime": "2026-06-15T11:50:00Z",
                    "endTime": "2026-06-15T11:51:00Z",
                },
                "value": {"int64Value": "1"},
            }
        ],
    }


def test_sums_of_periods_that_end_with_the_interval(get):
    _, answer = get(
        HERE,
        start=NOON - 4 * DAY,
        aggregation_perSeriesAligner="ALIGN_SUM",
        aggregation_alignmentPeriod=f"{DAY}s",
    )
    assert counts(answer) == {"digits": [13, 100], "iris": [3]}
    spans = [point["interval"] for point in answer["timeSeries"][0]["points"]]
    # A minute that begins with a period belongs to it.
    assert [s["endTime"][:13] for s in spans] == ["2026-06-15T12", "2026-06-13T12"]


def test_a_series_for_each_class_of_response(get):
    one = f'metric.type="{RESPONSES}" AND resource.label.endpoint_id="digits"'
    _, answer = get(f'{one} AND metric.label.response_code="4xx"')
    assert counts(answer) == {"digits": [2]}
    _, answer = get(f'{one} AND resource.labels.location="us-central1"')
    codes = [series["metric"]["labels"]["response_code"] for series in answer["timeSeries"]]
    assert codes == ["2xx", "4xx"]


def test_pages(get):
    found, token, pages = {}, "", 0
    while pages == 0 or token:
        _, answer = get(HERE, pageSize="2", pageToken=token)
        for endpoint, numbers in counts(answer).items():
            found.setdefault(endpoint, []).extend(numbers)
        token, pages = answer.get("nextPageToken", ""), pages + 1
    assert (found, pages) == ({"digits": [1, 7, 5], "iris": [3]}, 2)


def test_nothing_was_asked(get):
    assert get(HERE, end=NOON - 20 * HOUR) == (200, {"unit": "1"})


def test_what_is_in_use_of_a_quota_is_a_point_of_the_present(get):
    here = f'metric.type="{QUOTA}" AND resource.type="consumer_quota"'
    here += ' AND resource.labels.service="aiplatform.googleapis.com"'
    now = datetime.now(UTC).timestamp()
    _, answer = get(f'{here} AND resource.labels.location="us-central1"', end=now)
    (series,) = answer["timeSeries"]
    assert series["metric"]["labels"] == {"quota_metric": CPUS}
    assert (series["metricKind"], series["points"][0]["value"]) == ("GAUGE", {"int64Value": "12"})
    assert "timeSeries" not in get(here, end=now - 90)[1]


@pytest.mark.parametrize(
    ("filter_", "more", "status", "words"),
    [
        ('metric.type="compute.googleapis.com/instance/uptime"', {}, 501, "instance/uptime"),
        (f'{COUNT} AND resource.type="gce_instance"', {}, 501, "gce_instance"),
        (f'{COUNT} AND metric.labels.spot="True"', {}, 501, "metric.labels.spot"),
        (f'{COUNT} OR metric.type="a"', {}, 501, "OR metric.type"),
        (f'metric.type="{QUOTA}" AND resource.type="{RESOURCE}"', {}, 501, RESOURCE),
        (
            f'metric.type="{QUOTA}"',
            {"aggregation_perSeriesAligner": "ALIGN_SUM", "aggregation_alignmentPeriod": "60s"},
            501,
            QUOTA,
        ),
        (COUNT, {"orderBy": "a"}, 501, "orderBy"),
        (COUNT, {"aggregation_perSeriesAligner": "ALIGN_MAX"}, 501, "ALIGN_MAX"),
        (COUNT, {"aggregation_perSeriesAligner": "ALIGN_SUM"}, 400, "alignmentPeriod"),
        ("", {}, 400, "filter"),
        (COUNT, {"start": NOON}, 400, "interval"),
        (COUNT, {"project": "another"}, 403, "monitoring.timeSeries.list"),
    ],
)
def test_what_is_wrong_or_not_emulated_is_named(get, filter_, more, status, words):
    answered, answer = get(filter_, **more)
    assert (answered, words in answer["error"]["message"]) == (status, True), answer


def test_a_right_that_was_taken_away_and_a_disabled_api(get, facts):
    facts.write_text(json.dumps({"missing_permissions": ["monitoring.timeSeries.list"]}))
    assert get(COUNT)[0] == 403
    facts.write_text(json.dumps({"disabled_apis": ["monitoring.googleapis.com"]}))
    status, answer = get(COUNT)
    assert (status, answer["error"]["details"][0]["reason"]) == (403, "SERVICE_DISABLED")
