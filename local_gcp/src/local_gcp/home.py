"""The folder of one local_gcp: its data, keys, ports and log."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import socket
from pathlib import Path

from local_gcp.project import DEFAULT_PROJECT

LOOPBACK = "127.0.0.1"


@dataclasses.dataclass(frozen=True)
class Endpoints:
    """The two TCP ports on loopback that clients know; they never change."""

    proxy: int
    """CONNECT proxy: what `https_proxy` names."""
    http: int
    """Plain HTTP: what `STORAGE_EMULATOR_HOST` and `LOCAL_GCP_URL` name."""

    @property
    def proxy_url(self) -> str:
        return f"http://{LOOPBACK}:{self.proxy}"

    @property
    def http_url(self) -> str:
        return f"http://{LOOPBACK}:{self.http}"


class Home:
    """Paths inside one local_gcp folder. Creating a `Home` does not access the disk."""

    def __init__(self, root: Path | str):
        self.root = Path(root).absolute()
        self.buckets = self.root / "buckets"
        """Cloud Storage: BUCKET/OBJECT as plain files; /gcs of every job."""
        self.storage = self.root / "storage"
        """Cloud Storage's metadata and unfinished uploads."""
        self.jobs = self.root / "jobs"
        """One folder for each job: replica folders, logs, exit records."""
        self.state = self.root / "state.db"
        """SQLite: every acknowledged Vertex AI and Dataflow resource."""
        self.pki = self.root / "pki"
        """Throw-away certificates and the service-account key."""
        self.project_file = self.root / "project"
        self.endpoints_file = self.root / "endpoints.json"
        self.chaos_file = self.root / "chaos.json"
        """The rules of a storm, see `local_gcp.chaos`."""
        self.log = self.root / "server.log"
        self.pid_file = self.root / "server.pid"
        self.lock_file = self.root / "server.lock"

    @classmethod
    def find(cls, root: str | None = None) -> Home:
        """The home at `root`, else at $LOCAL_GCP_HOME, else at ./.local/gcp."""
        return cls(root or os.environ.get("LOCAL_GCP_HOME") or ".local/gcp")

    def create(self) -> None:
        """Create the folders. Only the owner has access: they contain keys and data."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self.buckets, self.storage, self.jobs, self.pki):
            folder.mkdir(exist_ok=True)

    def choose_project(self, requested: str | None) -> str:
        """The project that this home was started with; at the first start `asked`, recorded.

        Raises ValueError if that is another one: stored resource names contain it.
        """
        try:
            known = self.project_file.read_text()
        except FileNotFoundError:
            known = requested or DEFAULT_PROJECT
            write_atomically(self.project_file, known)
        if requested and requested != known:
            raise ValueError(f"{self.root} belongs to the project {known}: use another --home.")
        return known

    def endpoints(self) -> Endpoints | None:
        """The recorded ports, or None when this home was never started."""
        try:
            return Endpoints(**json.loads(self.endpoints_file.read_text()))
        except FileNotFoundError:
            return None

    def choose_endpoints(self) -> Endpoints:
        """The recorded ports; at the first start, free ones, recorded for every later start."""
        known = self.endpoints()
        if known:
            return known
        endpoints = Endpoints(proxy=_free_port(), http=_free_port())
        write_atomically(self.endpoints_file, json.dumps(dataclasses.asdict(endpoints)))
        return endpoints


def write_atomically(path: Path, text: str) -> None:
    """Write `path` atomically: a reader, or a restart after a kill, sees all of it or none."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)


def _free_port() -> int:
    # Below the range from which systems choose ports of outgoing connections (32768 on Linux,
    # 49152 elsewhere): while local_gcp is down, no other program's connection can take our port,
    # and no client that retries can be connected to itself.
    for port in random.sample(range(20000, 32000), k=200):
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port
    raise RuntimeError("No free TCP port between 20000 and 32000 on loopback.")
