"""Resolves what a release installs into Composer against the packages of Composer's image.

    python -m tests.composer_image

Composer's pip changes a package of the image only where something that is installed needs another
version. Which version it then takes is not said anywhere, unless dags/requirements-composer.txt
does: so every package that must change has to be pinned there, as the tests have it
(tests/composer.txt). Airflow itself must stay. Asks the package index, as an installation does;
exit code 1 for problems.
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGE = ROOT / "tests/composer_image.txt"
INSTALLED = ROOT / "dags/requirements-composer.txt"
TESTED = ROOT / "tests/composer.txt"
WHEELS = {"trellis-airflow": ROOT / "plugins", "trellis-contracts": ROOT / "contracts"}
"""Wheels of this checkout, which no index has."""

_COMPOSERS = "+composer"
"""Google's own build of a distribution, which no index has: nothing may replace it."""

Pins = Mapping[str, str]
Resolve = Callable[[Pins, Pins], Pins]


class NoSolutionError(Exception):
    """Some requirements contradict each other; the message is uv's."""


def pins(text: str) -> dict[str, str]:
    """Versions by names, of lines NAME==VERSION."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    found = (re.fullmatch(r"([A-Za-z0-9._-]+)==(\S+)", line) for line in lines if line)
    return {match[1].lower().replace("_", "-"): match[2] for match in found if match}


def problems(image: Pins, installed: Pins, tested: Pins, resolve: Resolve) -> list[str]:
    """List what is to be changed in the requirements; empty if nothing is.

    resolve: the versions of everything, of the fixed versions and those that are to be kept if
    they can be. Raises NoSolutionError.
    """
    others = [
        f"{name}=={version}: the tests have {tested[name]} (tests/composer.txt)"
        for name, version in installed.items()
        if name in tested and tested[name] != version
    ]
    own = {name: v.removesuffix(_COMPOSERS) for name, v in image.items() if v.endswith(_COMPOSERS)}
    kept = {name: version for name, version in image.items() if name not in own}
    try:
        found = resolve({**own, **installed}, kept)
    except NoSolutionError as error:
        return [*others, f"cannot be installed beside Composer's own Airflow: {error}"]
    # What changed for the sake of packages that need not be as new as they can be is no need.
    fixed = {name: version for name, version in kept.items() if found.get(name) == version}
    for name in sorted(kept.keys() - fixed.keys() - installed.keys()):
        with contextlib.suppress(NoSolutionError):
            resolve({**own, **installed, **fixed, name: kept[name]}, {})
            fixed[name] = kept[name]
    return [
        *others,
        *(
            f"{name}: the image has {kept[name]}, which is too old for what is installed. Add "
            f"{name}=={tested.get(name, found[name])}"
            for name in sorted(kept.keys() - fixed.keys() - installed.keys())
        ),
    ]


def resolve(fixed: Pins, kept: Pins, *options: str) -> Pins:
    """Resolve with uv. Raises NoSolutionError, also if the index does not answer."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, out = Path(folder, "requirements.in"), Path(folder, "requirements.txt")
        lines = [
            f"{name} @ {WHEELS[name].as_uri()}" if name in WHEELS else f"{name}=={version}"
            for name, version in fixed.items()
        ]
        wanted.write_text("\n".join([*lines, *kept.keys() - fixed.keys()]) + "\n")
        # uv takes the versions of an earlier result where it can.
        out.write_text("".join(f"{name}=={version}\n" for name, version in kept.items()))
        command = [ROOT / ".venv/tools/bin/uv", "pip", "compile", "--quiet", "--no-header"]
        command += ["--no-annotate", "--no-emit-index-url", "--python-version", "3.11"]
        done = subprocess.run(
            [*command, *options, str(wanted), "--output-file", str(out)],
            env={"UV_SYSTEM_CERTS": "true", **os.environ},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NoSolutionError(done.stderr.strip())
        return pins(out.read_text())


def main() -> int:
    image, installed, tested = (pins(file.read_text()) for file in (IMAGE, INSTALLED, TESTED))
    wrong = problems(image, installed, tested, resolve)
    for line in wrong:
        print(f"{INSTALLED.relative_to(ROOT)}: {line}", file=sys.stderr)
    if not wrong:
        print(f"{len(image)} packages of Composer's image: all that must change are pinned")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
