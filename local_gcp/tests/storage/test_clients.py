"""Programs that nobody here wrote are the measure: each client library in its own environment."""

from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize(
    ("program", "environment", "variables"),
    [
        ("with_gcsfs.py", "airflow", {}),
        ("with_gcsfs_over_https.py", "airflow", {"STORAGE_EMULATOR_HOST": ""}),
        ("with_airflow.py", "airflow", {}),
        pytest.param("with_tensorflow.py", "trainer", {}, marks=pytest.mark.slow),
        # As whole runs export.
        pytest.param("with_beam.py", "trainer", {}, marks=pytest.mark.slow),
        ("with_beam.py", "trainer", {"STORAGE_EMULATOR_HOST": ""}),
    ],
)
def test_client(local_gcp, bucket, tmp_path, program, environment, variables):
    argument = f"{bucket.name}-2" if environment == "airflow" else bucket.name
    local_gcp.run(
        PROGRAMS / program,
        argument,
        environment=environment,
        AIRFLOW_HOME=str(tmp_path),
        **variables,
    )
