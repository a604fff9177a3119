"""Builds docker/Dockerfile and runs its images without a Docker engine: buildah, as root.

No registry of images is needed. What the Dockerfile takes from them is made here: the base from
Debian's packages, which have the same Python; instead of Beam's boot and the template launcher, the
stand-ins beside this file. All else is as in a real build: every instruction, every package.

Images are kept in .local/containers, so a second build only repeats what has changed.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".local/containers"
TARGETS = ("trainer", "serve", "export")
_TOOLS = ("buildah", "runc", "mmdebstrap")
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_BASE = "docker.io/library/python:stand-in"

# Makes Debian's Python look like the official image's: /usr/local is where packages go, and pip may
# install.
_BASE_DOCKERFILE = """
FROM scratch
ADD base.tar /
RUN rm /usr/lib/python3.11/EXTERNALLY-MANAGED \\
 && ln -s /usr/bin/python3 /usr/local/bin/python \\
 && echo /usr/local/lib/python3.11/site-packages > /usr/lib/python3/dist-packages/usr-local.pth
"""


def install_tools() -> str | None:
    """Install what is missing; why images cannot be built on this machine, None if they can."""
    if os.geteuid() != 0:
        return "building images takes root"
    missing = [tool for tool in _TOOLS if not shutil.which(tool)]
    if missing and not shutil.which("apt-get"):
        return f"building images takes {', '.join(missing)}, and there is no apt-get"
    if missing:
        print(f"installing {', '.join(missing)}", flush=True)
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        # mmdebstrap checks the base's packages with these keys, which Ubuntu lacks.
        missing.append("debian-archive-keyring")
        apt = ["apt-get", "install", "-qq", "--no-install-recommends", *missing]
        subprocess.run(apt, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    return None


def build(target: str) -> str:
    """The image's name, built from the Dockerfile as it is."""
    _base()
    _lenders()
    return _built(
        f"localhost/trellis/{target}:test",
        "docker/Dockerfile",
        f"--target={target}",
        f"--build-arg=PYTHON={_BASE.rpartition(':')[2]}",
    )


def build_own(requirements: Path) -> str:
    """The name of a group's own image, built on the trainer's."""
    return _built(
        f"localhost/trellis/{requirements.stem}:test",
        "docker/Dockerfile.image",
        f"--build-arg=TRAINER={build('trainer')}",
        f"--build-arg=REQUIREMENTS={requirements.relative_to(ROOT)}",
    )


def build_program(folder: Path) -> str:
    """The name of the image of a program that knows nothing of Trellis, by its own Dockerfile."""
    _base()
    return _built(
        f"localhost/programs/{folder.name}:test",
        str((folder / "Dockerfile").relative_to(ROOT)),
        f"--from={_BASE}",
    )


def _built(name: str, dockerfile: str, *options: str) -> str:
    cache = subprocess.run(
        [ROOT / ".venv/tools/bin/uv", "cache", "dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    Path(cache).mkdir(parents=True, exist_ok=True)
    _buildah(
        "build",
        *("--layers", "--pull=never", "--network=host", "--format=docker", "--quiet"),
        f"--secret=id=ca,src={_CERTIFICATES}",
        # Nothing is downloaded twice.
        f"--volume={cache}:/root/.cache/uv",
        *options,
        f"--file={ROOT / dockerfile}",
        f"--tag={name}",
        ROOT,
    )
    return name


def layout(target: str) -> Path:
    """The built image as a folder (an OCI image layout)."""
    folder = FOLDER / "layouts" / target
    name = build(target)
    config = inspect(name)["FromImageID"]
    mark = folder / "image-id"
    if not (mark.exists() and mark.read_text() == config):
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(exist_ok=True)
        _buildah("push", "--quiet", "--disable-compression", name, f"oci:{folder}")
        mark.write_text(config)
    return folder


def inspect(name: str) -> dict:
    """Return buildah's facts about an image."""
    return json.loads(_buildah("inspect", "--type=image", name))


def container(name: str) -> str:
    """A container of an image, which may write to its root. `remove` it."""
    return _buildah("from", "--pull-never", name)


def command(container: str, argv: Sequence[str], *options: str) -> list[str]:
    """The command that runs a program in a container, as the image's user, in its environment."""
    return ["buildah", *_POLICY_FREE, "run", "--isolation=chroot", *options, container, "--", *argv]


def remove(container: str) -> None:
    _buildah("rm", container)


def release() -> None:
    """Give up the mounts that buildah leaves in its folder, so that `make clean` can delete it."""
    mount = FOLDER / "storage/overlay"
    # Not asked first with is_mount(), which does not see that a folder is mounted on itself.
    subprocess.run(["umount", "--recursive", mount], check=False, capture_output=True)


def environment() -> dict[str, str]:
    """Variables of every call of buildah: images in our own folder, none trusted or distrusted."""
    return {**os.environ, "CONTAINERS_STORAGE_CONF": str(_storage())}


_POLICY_FREE = ("--log-level=error",)


@functools.cache
def _storage() -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
    path = FOLDER / "storage.conf"
    path.write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{FOLDER}/storage"\nrunroot = "{FOLDER}/run"\n'
    )
    return path


def _base() -> None:
    if _exists(_BASE):
        return
    tar = FOLDER / "base.tar"
    packages = "python3,python3-venv,python3-pip,python-is-python3,ca-certificates"
    debian = ["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root"]
    subprocess.run([*debian, f"--include={packages}", "bookworm", tar], check=True)
    dockerfile = FOLDER / "Base"
    dockerfile.write_text(_BASE_DOCKERFILE)
    _buildah("build", "--quiet", f"--tag={_BASE}", f"--file={dockerfile}", FOLDER)
    tar.unlink()


def _lenders() -> None:
    """The images that lend one file each: names as the Dockerfile has them."""
    text = (ROOT / "docker/Dockerfile").read_text()
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.M))
    lent = {
        "beam": "opt/apache/beam/boot",
        "launcher": "opt/google/dataflow/python_template_launcher",
    }
    for stage, path in lent.items():
        image = re.search(rf"^FROM (\S+) AS {stage}$", text, re.M)[1]
        for argument, value in defaults.items():
            image = image.replace(f"${{{argument}}}", value)
        registry = "" if "." in image.partition("/")[0] else "docker.io/"
        folder = FOLDER / "stand-ins" / stage
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(__file__).with_name("stand_ins") / file.name, file)
        (folder / "Dockerfile").write_text("FROM scratch\nCOPY opt /opt\n")
        _buildah("build", "--quiet", "--layers", f"--tag={registry}{image}", folder)


def _exists(name: str) -> bool:
    called = subprocess.run(
        ["buildah", "inspect", "--type=image", name], capture_output=True, env=environment()
    )
    return called.returncode == 0


def _buildah(verb: str, *arguments: str | Path) -> str:
    """Run buildah and return its output. It is chrooted into the image, so it works inside of a
    container too.
    """
    options: tuple[str, ...] = ()
    if verb in ("build", "push", "from"):
        options = (f"--signature-policy={FOLDER / 'policy.json'}",)
    if verb in ("build", "from"):
        options += ("--isolation=chroot",)
    done = subprocess.run(
        ["buildah", verb, *options, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"buildah {verb} failed:\n{done.stderr[-4000:]}")
    return done.stdout.strip()


def main(targets: Sequence[str]) -> None:
    """`python -m tests.docker.builder [TARGET...]`: builds; prints the folders of the images."""
    if why_not := install_tools():
        raise SystemExit(why_not)
    for target in targets or TARGETS:
        print(layout(target), flush=True)
    release()


if __name__ == "__main__":
    main(sys.argv[1:])
