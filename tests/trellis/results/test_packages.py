"""The packages that the docs name are those that `trellis.load_run` imports, and no more."""

import ast
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.airflow_side import ROOT

# Of `model()` alone, as the docs say.
_OF_MODELS = {"tensorflow"}


def named_in(text):
    return set(re.search(r"pip install (?!--)([^\n`]+)", text)[1].split())


@pytest.fixture(scope="module")
def imported():
    """Modules of others that are imported somewhere in the modules that load_run is made of."""
    program = (
        "import sys, trellis.results.run\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('trellis')"
        " and getattr(m, '__file__', None)), sep='\\n')"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT / "plugins", capture_output=True, text=True,
        check=True,
    ).stdout.split("\n")  # fmt: skip
    modules = set()
    for file in filter(None, found):
        for node in ast.walk(ast.parse(Path(file).read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                modules |= {name for name in inner if node.module == "google.cloud"}
                modules |= {node.module} - {"google.cloud"}
    ours = {*sys.stdlib_module_names, "trellis", "trellis_contracts", *_OF_MODELS}
    return {name for name in modules if name.partition(".")[0] not in ours}


def files(name):
    """The installed files of a distribution."""
    found = importlib.metadata.distribution(name)
    return {str(found.locate_file(file)) for file in found.files or ()}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def with_required(names):
    """The distributions, and what each brings along."""
    found, left = set(), {normal(name) for name in names}
    while left:
        name = left.pop()
        found.add(name)
        for line in importlib.metadata.requires(name) or ():
            required = normal(re.match(r"[\w.-]+", line)[0])
            if "extra ==" not in line and required not in found and is_installed(required):
                left.add(required)
    return found


def is_installed(name):
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def test_the_docs_name_every_package_that_load_run_imports(imported):
    named = named_in((ROOT / "docs/how-to/results.md").read_text().partition("## In Python")[2])
    origins = {name: importlib.util.find_spec(name).origin for name in imported}
    there = set().union(*map(files, with_required(named)))
    assert {name for name, origin in origins.items() if origin not in there} == set()
    assert [name for name in named if not files(name) & set(origins.values())] == []
