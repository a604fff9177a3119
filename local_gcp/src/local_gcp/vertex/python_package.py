"""Installs the Python packages of a pythonPackageSpec, offline, and becomes its module.

    python3 python_package.py --package gs://BUCKET/trainer-0.1.tar.gz ... -- MODULE [ARGUMENT ...]

Runs as the replica's program, in the environment of its image, so it uses the standard library and
that environment's setuptools only. Wheels are unpacked; source distributions are built with
setuptools first. Vertex AI installs requirements from an index; here nothing leaves this machine,
so if the environment lacks one, the program fails before it starts, with its name.
"""

import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

try:
    from packaging.requirements import Requirement
except ImportError:  # an environment's own copy is in its setuptools
    from setuptools._vendor.packaging.requirements import Requirement  # type: ignore

_BUILD = "import sys, setuptools.build_meta as b; b.__legacy__.build_wheel(sys.argv[1])"


def main(arguments: "list[str]") -> None:
    """Install and replace this process by `python -m MODULE`."""
    split = arguments.index("--")
    uris, module, rest = arguments[1:split:2], arguments[split + 1], arguments[split + 2 :]
    target = Path(os.environ["LOCAL_GCP_ATTEMPT"], "packages")
    for uri in uris:
        install(_local(uri), target)
    check_requirements(target)
    path = [str(target), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
    os.execv(sys.executable, [sys.executable, "-m", module, *rest])


def install(package: Path, target: Path) -> None:
    """Unpack a wheel, or build a source distribution and unpack that, into `target`."""
    if package.suffix == ".whl":
        _unpack_wheel(package, target)
        return
    with tempfile.TemporaryDirectory() as folder:
        source, wheels = Path(folder, "source"), Path(folder, "wheels")
        wheels.mkdir()
        _extract(package, source)
        roots = [path.parent for name in _PROJECT_FILES for path in source.glob(f"*/{name}")]
        if not roots:
            _fail(
                f"{package.name} is not a source distribution: it has no setup.py or pyproject.toml"
            )
        build = subprocess.run(
            [sys.executable, "-c", _BUILD, str(wheels)],
            cwd=roots[0],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if build.returncode:
            _fail(f"{package.name} does not build:\n{build.stdout}")
        for wheel in wheels.iterdir():
            _unpack_wheel(wheel, target)


_PROJECT_FILES = ("setup.py", "pyproject.toml")


def _local(uri: str) -> Path:
    if not uri.startswith("gs://"):
        _fail(f"{uri} is not a gs:// URI")
    path = Path(os.environ["GCS_ROOT"], uri.removeprefix("gs://"))
    if not path.is_file():
        _fail(f"{uri} does not exist")
    return path


def _extract(archive: Path, folder: Path) -> None:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as file:
            # Python has the filter since 3.11.4; Debian's is 3.11.2. The package's code runs next.
            file.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            file.extractall(folder)
    else:
        _fail(f"{archive.name} is neither a wheel nor a source distribution (.tar.gz, .zip)")


def _unpack_wheel(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        file.extractall(target)


def check_requirements(target: Path) -> None:
    """Exit unless the requirements of the packages in `target` are installed or among them."""
    for package in importlib.metadata.distributions(path=[str(target)]):
        for text in package.requires or []:
            problem = _problem(text, target)
            if problem:
                _fail(
                    f"{package.metadata['Name']} {package.version} requires {text}, {problem} in "
                    "the environment of the image. Vertex AI installs it; local runs "
                    f"download nothing. Install it there: {sys.executable} -m pip install '{text}'"
                )


def _problem(text: str, target: Path) -> str:
    """Return why the requirement is not met, "" if it is."""
    requirement = Requirement(text)
    if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
        return ""
    path = [str(target), *sys.path]
    found = next(iter(importlib.metadata.distributions(name=requirement.name, path=path)), None)
    if found is None or requirement.url:
        return "which is not installed"
    if not requirement.specifier.contains(found.version, prereleases=True):
        return f"and {requirement.name} {found.version} is installed"
    return ""


def _fail(problem: str) -> None:
    sys.exit(f"local_gcp: cannot install the Python package: {problem}.")


if __name__ == "__main__":
    main(sys.argv[1:])
