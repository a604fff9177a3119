"""Airflow's port of a local run, which another program may take between two starts."""

import socket

import pytest

from demo import airflow_environment
from tests.wording import says


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(airflow_environment, "AIRFLOW_HOME", tmp_path)


def test_a_run_keeps_its_port_and_password():
    first = airflow_environment.settings()
    assert airflow_environment.yield_port() is None
    assert airflow_environment.settings() == first


def test_another_programs_port_is_left_to_it():
    first = airflow_environment.settings()
    with socket.create_server(("127.0.0.1", first["api_port"])):
        note = airflow_environment.yield_port()
    second = airflow_environment.settings()
    assert says(note, f"port {first['api_port']}", "another program")
    assert second["api_port"] != first["api_port"]
    assert second | {"api_port": None} == first | {"api_port": None}
