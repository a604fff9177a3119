"""A local run's folder, and what a user does with it: `python -m demo run`, `airflow`, Google's
clients. Real processes only.
"""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from testbed.redeployment import Operator

ROOT = Path(__file__).resolve().parents[1]
PLATFORM = yaml.safe_load((ROOT / "dags" / "platform.yaml").read_text())
PLATFORM["images"] = str(ROOT / "demo/images.yaml")  # a copy elsewhere finds it, too
# A run of digits that takes little more than a minute, and passes the gate of its file.
SMALL = {"trials": 2, "parallel": 2, "top": 1, "tune_epochs": 1, "train_epochs": 4}


def examples(run: Path) -> list[dict]:
    """Test rows of a run, with what its selected training predicted for them."""
    return json.loads((run / "leaderboard" / "challenger.json").read_text())["examples"]


class Watch:
    """Observations of an endpoint. changes, looks: see watch_endpoint.py."""

    def __init__(self) -> None:
        self.changes: list[dict] = []
        self.looks = 0

    @property
    def wrong(self) -> list[dict]:
        return [change for change in self.changes if change["wrong"]]

    def shares(self, version: str) -> list[int]:
        """The shares that a version had, one after the other."""
        every = [change["shares"].get(version, 0) for change in self.changes]
        return [share for n, share in enumerate(every) if n == 0 or share != every[n - 1]]


@dataclass(frozen=True)
class Demo:
    """A local run's folder, and the commands that `make` would give."""

    local: Path
    around: tuple[str | Path, ...] = ()
    """A command that runs `python -m demo` in surroundings of its own: its last arguments."""
    root: Path = ROOT
    """The checkout whose experiments it runs."""

    def command(self, *arguments: str) -> subprocess.Popen:
        """Start `python -m demo ...`; its plain lines come through stdout."""
        return subprocess.Popen(
            [*self.around, ROOT / ".venv/airflow/bin/python", "-m", "demo", *arguments],
            cwd=self.root,
            env={
                **os.environ,
                "TRELLIS_LOCAL": str(self.local),
                # Read for each process that local_gcp starts; see `replace_images`.
                "LOCAL_GCP_IMAGES": str(self._images),
            },
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
        jobs = self.status().get("jobs", [])
        of_experiment = [job for job in jobs if job["display_name"].startswith(experiment)]
        return [job for job in of_experiment if kind in (None, job["kind"])]

    def status(self) -> dict:
        """Return local_gcp's status; empty while it is down."""
        local_gcp = [ROOT / ".venv/local_gcp/bin/python", "-m", "local_gcp"]
        out = subprocess.run(
            [*local_gcp, "--home", self.local / "gcp", "status", "--json"],
            cwd=ROOT,
            capture_output=True,
        )
        return json.loads(out.stdout) if out.returncode == 0 else {}

    def serving(self, experiment: str = "digits") -> dict | None:
        """Return the served model of an experiment's endpoint, by demo.endpoint_state."""
        arguments = (PLATFORM["project"], PLATFORM["region"], experiment)
        told = self._shell('exec python -m demo.endpoint_state "$@"', *arguments)
        return json.loads(told).get(experiment)

    def versions(self, experiment: str = "digits") -> list[dict]:
        """The versions of an experiment's model, as list_versions.py tells them."""
        program = Path(__file__).with_name("list_versions.py")
        arguments = (PLATFORM["project"], PLATFORM["region"], experiment)
        return json.loads(self._shell('exec python "$@"', program, *arguments))

    def champion(self, experiment: str = "digits") -> str | None:
        """The version with this alias."""
        versions = self.versions(experiment)
        return next((v["version"] for v in versions if "champion" in v["aliases"]), None)

    def serving_processes(self) -> list[int]:
        """The processes of model servers that local_gcp, whichever, has left running: they write
        their logs in its folder.
        """
        home = self.local / "gcp"
        return [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if "trainer.serve" in (process.info["cmdline"] or ())
            and home in Path(f"/proc/{process.pid}/fd/1").resolve().parents
        ]

    @contextlib.contextmanager
    def watched(self, endpoint: str = "digits") -> Iterator[Watch]:
        """Watch an endpoint meanwhile; what was seen is there afterwards."""
        watch = Watch()
        arguments = (PLATFORM["project"], PLATFORM["region"], endpoint)
        with self._beside("watch_endpoint.py", *arguments) as said:
            yield watch
        *watch.changes, end = said
        watch.looks = end["looks"]

    @contextlib.contextmanager
    def loaded(self, run: Path, seconds: float) -> Iterator[dict]:
        """Ask the endpoint for a run's examples meanwhile, `seconds` at most; what load.py tells
        is there afterwards.
        """
        told: dict = {}
        instances = [example["instance"] for example in examples(run)]
        request = self.local / "load.json"
        request.write_text(json.dumps({"instances": instances}))
        endpoint = self.serving()["endpoint"]
        with self._beside("load.py", endpoint, request, str(seconds)) as said:
            yield told
        told |= said[0]

    @contextlib.contextmanager
    def _beside(self, program: str, *arguments: str | Path) -> Iterator[list[dict]]:
        """Run a program of this folder with Google's client until the block ends, by SIGTERM; the
        lines of JSON that it printed are there afterwards.
        """
        said: list[dict] = []
        command = ["/bin/sh", "-c", self._script('exec python "$@"'), "sh"]
        running = subprocess.Popen(
            [*command, Path(__file__).with_name(program), *arguments], stdout=subprocess.PIPE
        )
        try:
            yield said
        finally:
            running.send_signal(signal.SIGTERM)
            out, _ = running.communicate(timeout=120)
        said += map(json.loads, out.splitlines())

    def replace_images(self, images: list[dict]) -> None:
        """Override how local_gcp runs these images, from the next process on; []: no override."""
        self._images.write_text(yaml.safe_dump(images))

    @property
    def operator(self) -> Operator:
        """Airflow's REST API."""
        settings = json.loads((self.local / "airflow" / "settings.json").read_text())
        return Operator(f"http://127.0.0.1:{settings['api_port']}", "admin", settings["password"])

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
        """Return the output of the `airflow` command, run like a user after the demo."""
        return self._shell('exec airflow "$@"', *arguments)

    def dag_runs(self, dag: str) -> list[dict]:
        """All runs of a DAG, as `airflow dags list-runs` tells them in its last line."""
        return json.loads(
            self.airflow("dags", "list-runs", dag, "--output", "json").splitlines()[-1]
        )

    def _shell(self, command: str, *arguments: str | Path) -> str:
        out = subprocess.run(
            ["/bin/sh", "-c", self._script(command), "sh", *arguments],
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
        )
        return out.stdout.decode()

    def _script(self, command: str) -> str:
        return f'. "{self.local / "environment.sh"}" && {command}'

    @property
    def _images(self) -> Path:
        return self.local / "images.yaml"

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
