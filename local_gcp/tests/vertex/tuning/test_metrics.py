"""The metric file, as cloudml-hypertune writes it and as it may be met half-written."""

import json

from local_gcp.vertex.tuning.metrics import read_measurements
from local_gcp.vertex.tuning.trials import Measurement


def line(step, value, timestamp=105.0, metric="accuracy"):
    return json.dumps(
        {
            "timestamp": timestamp,
            "trial": "1",
            metric: str(value),
            "global_step": str(step),
            "checkpoint_path": "",
        }
    )


def test_reports_of_the_metric_are_read_and_others_left_alone(tmp_path):
    path = tmp_path / "output.metrics"
    path.write_text("\n".join([line(1, 0.5), line(1, 2.0, metric="loss"), line(2, 0.6, 107.5)]))
    assert read_measurements(path, "accuracy", started=100) == [
        Measurement(1, 5.0, 0.5),
        Measurement(2, 7.5, 0.6),
    ]


def test_a_file_that_is_being_written_never_gives_a_wrong_number(tmp_path):
    path = tmp_path / "output.metrics"
    whole = line(1, 0.5) + "\n" + line(2, 0.6) + "\n"
    legal = (0, 1, 2)
    for end in range(len(whole)):
        path.write_text(whole[:end])
        found = read_measurements(path, "accuracy", started=100)
        assert len(found) in legal
        assert found == [Measurement(1, 5.0, 0.5), Measurement(2, 5.0, 0.6)][: len(found)]


def test_what_is_no_report_is_skipped(tmp_path):
    path = tmp_path / "output.metrics"
    path.write_text('not json\n[1]\n{"accuracy": "high", "timestamp": 1}\n7\n')
    assert read_measurements(path, "accuracy", started=0) == []
    assert read_measurements(tmp_path / "missing", "accuracy", started=0) == []
