"""Whole runs through the user's door: `python -m demo run`, with real processes only.

Every session gets a `.local` folder of its own, so a demo that is running beside the tests is left
alone.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Demo:
    """A local run's folder, and the commands that `make` would give."""

    local: Path

    def command(self, *arguments: str) -> subprocess.Popen:
        """Start `python -m demo ...`; its plain lines come through stdout."""
        return subprocess.Popen(
            [ROOT / ".venv/airflow/bin/python", "-m", "demo", *arguments],
            cwd=ROOT,
            env={**os.environ, "TRELLIS_LOCAL": str(self.local)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(
        self, params: dict, experiment: str = "digits", timeout: float = 900
    ) -> subprocess.CompletedProcess:
        """One run of an experiment, to its end."""
        process = self.command("run", experiment, "--conf", json.dumps(params))
        out, _ = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out)

    def jobs(self, kind: str | None = None, experiment: str = "") -> list[dict]:
        """The jobs that local_gcp knows, all or of a kind or experiment; none while it is down."""
        local_gcp = [ROOT / ".venv/local_gcp/bin/python", "-m", "local_gcp"]
        out = subprocess.run(
            [*local_gcp, "--home", self.local / "gcp", "status", "--json"],
            cwd=ROOT,
            capture_output=True,
        )
        jobs = json.loads(out.stdout)["jobs"] if out.returncode == 0 else []
        of_experiment = [job for job in jobs if job["display_name"].startswith(experiment)]
        return [job for job in of_experiment if kind in (None, job["kind"])]

    def supervised_pid(self, program: str) -> int:
        """The process of one of supervisord's programs: "local_gcp", "airflow:scheduler"..."""
        supervisorctl = [ROOT / ".venv/tools/bin/supervisorctl", "-c"]
        out = subprocess.run(
            [*supervisorctl, self.local / "supervisor" / "supervisord.conf", "pid", program],
            capture_output=True,
            check=True,
        )
        return int(out.stdout)

    def with_google_client(self, program: Path, *arguments: str) -> None:
        """Run a Python program of the Airflow environment against this run's local_gcp."""
        self._shell('exec python "$@"', program, *arguments)

    def airflow(self, *arguments: str) -> str:
        """What the `airflow` command prints, as a user would give it after the demo."""
        return self._shell('exec airflow "$@"', *arguments)

    def dag_runs(self, dag: str) -> list[dict]:
        """All runs of a DAG, as `airflow dags list-runs` tells them in its last line."""
        return json.loads(
            self.airflow("dags", "list-runs", dag, "--output", "json").splitlines()[-1]
        )

    def _shell(self, command: str, *arguments: str | Path) -> str:
        script = f'. "{self.local / "environment.sh"}" && {command}'
        out = subprocess.run(
            ["/bin/sh", "-c", script, "sh", *arguments], check=True, stdout=subprocess.PIPE
        )
        return out.stdout.decode()

    @property
    def bucket(self) -> Path:
        """The folder of the one bucket that the demo uses."""
        (bucket,) = (self.local / "gcp" / "buckets").iterdir()
        return bucket

    def runs(self, experiment: str = "digits") -> list[Path]:
        """The folders of an experiment's runs, oldest first, as the bucket holds them."""
        return sorted(
            self.local.glob(f"gcp/buckets/*/{experiment}/runs/*"), key=lambda p: p.stat().st_ctime
        )


@pytest.fixture(scope="session")
def demo() -> Iterator[Demo]:
    # Not pytest's tmp_path: Airflow's log paths are long, and a failed run's logs shall be found.
    local = Path(tempfile.mkdtemp(prefix="trellis-"))
    demo = Demo(local)
    yield demo
    demo.command("stop").communicate(timeout=120)
    if not os.environ.get("TRELLIS_KEEP"):
        shutil.rmtree(local, ignore_errors=True)
