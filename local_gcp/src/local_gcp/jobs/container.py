"""Runs one program in the unpacked files of a container image, with runc. Standard library only.

    python -I -S container.py {"rootfs": ..., "user": ..., "workdir": ..., "memory": ...} ARGV...

The environment is the container's, except for variables that name files of this machine. As on
Vertex AI, buckets are at /gcs (not for a model server), and the tuner's file is in /var/hypertune,
where only root may write. The network is this machine's. The program sees no other processes, has
only its user's rights, can write only to /tmp, and has limits for memory and processes.

SIGTERM goes to the program, whose exit code is this one's (128 + N for signal N).
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROCESSES = 4096
_HYPERTUNE = "/var/hypertune/output.metrics"
_FILES = "/etc/local_gcp"
"""Paths in the container of the files that these variables name."""
_NAMES_OF_FILES = (
    "CURL_CA_BUNDLE",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
)
_HOOK = "client_hook"
"""A folder of local_gcp on PYTHONPATH; see environment.py."""
_ONLY_OUTSIDE = ("AIRFLOW_CONN_GOOGLE_CLOUD_DEFAULT", "LOCAL_GCP_HOME", "GCS_ROOT")


def main(image: dict, argv: "list[str]") -> int:
    """Run `argv` to its end; its exit code."""
    bundle = tempfile.mkdtemp(prefix="container-", dir=os.environ.get("LOCAL_GCP_ATTEMPT"))
    try:
        with open(os.path.join(bundle, "config.json"), "w") as file:
            json.dump(_config(image, argv, bundle), file)
        runc = shutil.which("runc", path=_SYSTEM_PATH) or "runc"
        state = ["--root", os.path.join(bundle, "state")]
        name = "local-gcp-" + os.path.basename(bundle).removeprefix("container-")
        command = [runc, *state, "run", "--bundle", bundle, name]
        # Its own session, so that a signal to this program's group does not reach it twice.
        process = subprocess.Popen(command, start_new_session=True)
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        code = process.wait()
        return code if code >= 0 else 128 - code
    finally:
        shutil.rmtree(bundle, ignore_errors=True)


def _config(image: dict, argv: "list[str]", bundle: str) -> dict:
    """The runtime's config.json (github.com/opencontainers/runtime-spec, config.md)."""
    uid, gid, home = _user(image["rootfs"], image["user"])
    variables, mounts = _given(bundle)
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": uid, "gid": gid},
            "cwd": image["workdir"],
            "env": [f"{name}={value}" for name, value in {"HOME": home, **variables}.items()],
            "args": argv,
            "noNewPrivileges": True,
            "capabilities": {},
        },
        "root": {"path": image["rootfs"], "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            _tmpfs("/dev", "mode=755", "size=65536k"),
            _tmpfs("/dev/shm", "mode=1777", "size=65536k"),
            *mounts,
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")],
            "resources": {
                "memory": {"limit": image["memory"]},
                "pids": {"limit": _PROCESSES},
            },
        },
    }


def _given(bundle: str) -> "tuple[dict[str, str], list[dict]]":
    """The container's variables, and mounts of the files and folders that they name."""
    variables = {n: v for n, v in os.environ.items() if n not in _ONLY_OUTSIDE}
    scratch, files, tuner = (os.path.join(bundle, name) for name in ("tmp", "files", "hypertune"))
    for folder in (scratch, files, tuner):
        os.mkdir(folder)
    os.chmod(scratch, 0o1777)
    mounts = [_bind(scratch, "/tmp")]
    for name in _NAMES_OF_FILES:
        if path := variables.get(name):
            # A copy: in the home of local_gcp they are root's, and its user may not be.
            copy = shutil.copy(path, files)
            os.chmod(copy, 0o644)
            variables[name] = os.path.join(_FILES, os.path.basename(copy))
    folders = variables.get("PYTHONPATH", "").split(os.pathsep)
    for index, folder in enumerate(folders):
        if os.path.basename(folder) == _HOOK:
            shutil.copytree(folder, os.path.join(files, _HOOK), copy_function=_readable)
            folders[index] = os.path.join(_FILES, _HOOK)
    variables["PYTHONPATH"] = os.pathsep.join(folders)
    mounts.append(_bind(files, _FILES, "ro"))
    if metrics := variables.get("CLOUD_ML_HP_METRIC_FILE"):
        open(metrics, "a").close()
        open(os.path.join(tuner, os.path.basename(_HYPERTUNE)), "w").close()
        mounts += [_bind(tuner, os.path.dirname(_HYPERTUNE)), _bind(metrics, _HYPERTUNE)]
        variables["CLOUD_ML_HP_METRIC_FILE"] = _HYPERTUNE
    if variables.get("AIP_MODE") != "PREDICTION" and (buckets := os.environ.get("GCS_ROOT")):
        mounts.append(_bind(buckets, "/gcs"))
    return variables, mounts


def _readable(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    os.chmod(target, 0o644)


def _user(rootfs: str, user: str) -> "tuple[int, int, str]":
    """(uid, gid, home) of USER: a name or a number, by the image's passwd."""
    name, _, group = (user or "0").partition(":")
    try:
        with open(os.path.join(rootfs, "etc/passwd")) as file:
            entries = [line.rstrip("\n").split(":") for line in file]
    except FileNotFoundError:
        entries = []
    for known, _, uid, gid, _, home, _ in entries:
        if name in (known, uid):
            return int(uid), int(group or gid), home
    return int(name), int(group or 0), "/"


def _tmpfs(destination: str, *options: str) -> dict:
    return {
        "destination": destination,
        "type": "tmpfs",
        "source": "tmpfs",
        "options": ["nosuid", *options],
    }


def _bind(source: str, destination: str, mode: str = "rw") -> dict:
    return {
        "destination": destination,
        "type": "bind",
        "source": source,
        "options": ["rbind", mode],
    }


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
