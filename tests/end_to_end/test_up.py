"""`make up`, from an empty folder."""

import pytest

from demo import experiments

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_everything_starts_and_all_data_are_loaded(demo):
    process = demo.command("up")
    output, _ = process.communicate(timeout=500)
    assert process.returncode == 0, output
    assert "Airflow answers at" in output
    missing = [name for name in experiments.DATA if not experiments.has_data(name)]
    for name, (_, places) in experiments.DATA.items():
        said = f"{name}: its data come with its image" in output
        assert said == (name in missing)
        last = places.format_map(experiments.platform()).split()[-1]
        assert (last in output) == (name not in missing)
