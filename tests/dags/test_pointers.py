"""Whatever a message or a page points to is there: commands, files, headings, keys, tasks.

The texts are all string literals of the programs, and all pages. Each pointer is followed.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.airflow_side import ROOT
from trellis.__main__ import main
from trellis.workflow.assembly import prediction, rollback, training
from trellis.workflow.spec import platform
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.sections import field_of
from trellis.workflow.validation.file import load, with_changes

PROGRAMS = [
    path
    for folder in ("plugins/trellis", "demo", "trainer")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BUILT = ("changelog.md", "contributing.md", "reference.md")
"""Pages that docs/build.py makes."""

TEMPLATES = sorted((ROOT / "plugins/trellis").rglob("*.j2"))


def literals(path):
    """The texts of a program, f-strings with … for what they compute."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "…" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.fixture(scope="module")
def texts():
    found = [(path, text) for path in PROGRAMS for text in literals(path)]
    return [*found, *((path, path.read_text()) for path in [*PAGES, *TEMPLATES])]


@pytest.fixture(scope="module")
def tasks():
    """Ids of the tasks of all DAGs."""
    group = platform.load(ROOT / "dags")
    shipped = [load(path) for path in sorted((ROOT / "dags/experiments").glob("*.yaml"))]
    made = [
        with_changes(one, {("train", "seeds"): 2, ("budget",): "9000 USD"})
        for one in shipped
        if one.own_model is None
    ]
    dags = [training.build(one, group) for one in made]
    dags += [prediction.build(one, group) for one in shipped if one.predict is not None]
    dags.append(rollback.build({e.name: e for e in shipped if e.deploy is not None}, group))
    found = {task for dag in dags for task in dag.task_ids}
    # `deploy.shift` is all its steps: deploy.shift_10, deploy.shift_50, ...
    return found | {re.sub(r"_\d+$", "", task) for task in found}


def pointers(texts, pattern):
    """(file, what the first group found), each once."""
    return sorted(
        {
            (str(path.relative_to(ROOT)), match[1])
            for path, text in texts
            for match in re.finditer(pattern, text)
        }
    )


def wrong(found, is_there):
    assert found, "the pattern finds nothing"
    return [pointer for pointer in found if not is_there(pointer[1])]


def test_commands_exist(texts, capsys):
    def is_there(name):
        with pytest.raises(SystemExit) as ended:
            main([name, "--help"])
        return ended.value.code == 0

    assert not is_there("chek")
    assert wrong(pointers(texts, r"`trellis ([a-z]+)"), is_there) == []


def test_targets_of_make_exist(texts):
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    assert wrong(pointers(texts, r"`make ([a-z-]+)"), targets.__contains__) == []


def headings(page):
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"(?m)^#+ (.*)$", page.read_text())
    kept = (re.sub(r"[^\w\s-]", "", re.sub(r"[`*]|\]\([^)]*\)", "", t)).lower() for t in titles)
    return {title.strip().replace(" ", "-") for title in kept}


def test_pages_and_their_headings_exist(texts):
    def is_there(pointer):
        name, _, anchor = pointer.partition("#")
        page = ROOT / name
        return page.is_file() and (not anchor or anchor in headings(page))

    pattern = r"(?<![\w/])(docs/[\w/-]+\.md(?:#[\w-]+)?)"
    assert wrong(pointers(texts, pattern), is_there) == []


def test_links_between_pages_lead_somewhere(texts):
    broken = []
    for path, text in texts:
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            if path.parent == ROOT / "docs" and name in BUILT:
                continue
            page = (path.parent / name).resolve() if name else path
            if not page.exists() or (anchor and anchor not in headings(page)):
                broken.append((str(path.relative_to(ROOT)), target))
    assert broken == []


def test_keys_of_the_platform_exist(texts):
    found = pointers(texts, r"platform\.yaml: ([a-z_]+(?:\.[a-z_]+)*)")
    known = lambda key: field_of(Platform, tuple(key.split("."))) is not None  # noqa: E731
    assert wrong(found, known) == []


def test_keys_of_an_experiment_exist(texts, tasks):
    """Or a task of that name: `deploy.retreat`."""
    sections = "source|tune|train|baselines|deploy|predict"
    found = pointers(texts, rf"`((?:{sections})(?:\.[a-z_]+)+)(?:: [^`]*)?`")
    found = [pointer for pointer in found if not pointer[1].endswith((".py", ".yaml", ".json"))]

    def is_there(key):
        # What is searched has names that the author of a file chooses.
        parts = tuple(key.partition(".search.")[0].split("."))
        return key in tasks or field_of(Experiment, parts) is not None

    assert wrong(found, is_there) == []


def test_tasks_that_one_is_to_clear_exist(texts, tasks):
    found = pointers(texts, r"[Cc]lear `([a-z_.]+)`")
    assert wrong(found, tasks.__contains__) == []


def test_programs_exist(texts):
    """The lock of each environment that a message names installs the program."""
    found = pointers(texts, r"(\.venv/[a-z_]+/bin/[a-z-]+)")
    assert wrong(found, lambda name: Path(ROOT, name).exists()) == []


def test_terms_are_words_of_the_pages():
    """A word that only the page of terms has is none of ours."""
    terms = ROOT / "docs/terms.md"
    defined = re.findall(r"(?m)^\| ([a-z][^|]*?)(?: \([^|]*\))? \|", terms.read_text())
    defined = [term for term in defined if term != "term"]
    assert len(defined) == len(set(defined)) > 40
    others = [path.read_text().lower() for path in PAGES if path != terms]
    assert [t for t in defined if not any(re.search(rf"\b{t}", text) for text in others)] == []
    assert "(terms.md)" in (ROOT / "docs/index.md").read_text()
