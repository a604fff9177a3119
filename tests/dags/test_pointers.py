"""Whatever a message or a page points to is there: commands, files, headings, keys, tasks.

The texts are all string literals of the programs, their comments where they name files, the
templates of pages and of the report, and all pages. Each pointer is followed.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.airflow_side import ROOT
from trellis.__main__ import main
from trellis.workflow.assembly import prediction, reserve, rollback, training
from trellis.workflow.spec import platform
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.spec.platform import Platform
from trellis.workflow.spec.sections import field_of
from trellis.workflow.validation.file import load, with_changes

pytestmark = pytest.mark.one_airflow

PARTS = (
    "plugins/trellis",
    "contracts/trellis_contracts",
    "dags",
    "demo",
    "trainer",
    "local_gcp/src",
    "testbed",
    "benchmarks",
)
PROGRAMS = [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("*/README.md")),
    *sorted(ROOT.glob("*/*/README.md")),
]
BUILT = ("changelog.md", "contributing.md", "reference.md")
"""Pages that docs/build.py makes."""

TEMPLATES = [
    path for part in ("plugins/trellis", "trainer") for path in sorted((ROOT / part).rglob("*.j2"))
]
SETTINGS = [*sorted((ROOT / "dags").rglob("*.yaml")), *sorted((ROOT / "infra").glob("*.tf"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))

AUTHORS = re.compile(r"NAME|dags/experiments/\w|dags/platform-prod|infra/terraform\.tfvars$")
"""Files that the readers of a page make, and places for a name."""


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
    whole = [*PAGES, *TEMPLATES, *SETTINGS]
    return [*found, *((path, path.read_text()) for path in whole)]


@pytest.fixture(scope="module")
def tasks():
    """Ids of the tasks of all DAGs."""
    group = platform.load(ROOT / "dags")
    shipped = [load(path) for path in sorted((ROOT / "dags/experiments").glob("*.yaml"))]
    every = {("train", "seeds"): 2, ("budget",): "9000 USD"}
    asks = {("deploy", "approve"): ["ada"], ("deploy", "within"): "1 hour"}
    starts = {("train", "start"): "champion"}
    made = [
        with_changes(
            one,
            every | (asks if one.deploy else {}) | (starts if one.model == "dense" else {}),
        )
        for one in shipped
        if one.own_model is None
    ]
    made += [one for one in shipped if one.foreign]
    given = {("baselines", "files"): {"lab": "lab/predictions.parquet"}}
    made += [with_changes(one, given) for one in shipped if one.name == "digits"]
    services = {("deploy", "allow"): ["trainings", "automl", "bqml"]}
    # With all of them competing there is nothing to beat.
    services[("deploy", "gate", "beat")] = None
    both = (one for one in shipped if one.deploy and one.baselines.bqml and one.baselines.automl)
    made += [with_changes(one, services) for one in both]
    dags = [training.build(one, group) for one in made]
    dags += [prediction.build(one, group) for one in shipped if one.predict is not None]
    dags += [reserve.build(one, group) for one in shipped if one.deploy is not None]
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


# "trellis go" is what the processes of a training say to each other.
COMMAND = r"(?m)(?:`|^ *(?:\$ )?|<code>)trellis (?!go )([a-z]+\b[^`\n#<|]*)"


def test_commands_exist_and_take_their_options(texts, capsys):
    """In text between backticks, in examples that stand on lines of their own, in pages."""

    def is_there(words):
        name, *options = [words.split()[0], *re.findall(r"(?<![\w-])--[a-z-]+", words)]
        words = [name, "experiment"] if name == "new" else [name]
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        help_of = capsys.readouterr().out
        return ended.value.code == 0 and all(
            re.search(rf"{option}\b(?!-)", help_of) for option in options
        )

    assert not is_there("chek FILE")
    assert not is_there("runs --add-mising")
    assert is_there("runs --owner ada --last 100")
    assert wrong(pointers(texts, COMMAND), is_there) == []


def test_commands_of_airflow_exist(texts):
    from airflow.cli.cli_parser import get_parser

    def actions(parser):
        found = [a for a in parser._actions if isinstance(a.choices, dict)]
        return found[0].choices if found else {}

    groups = actions(get_parser())

    def is_there(words):
        group, action = words.split()
        return group in groups and action in actions(groups[group])

    assert not is_there("dags uncause")
    found = pointers(texts, r"\bairflow ((?:dags|tasks|backfill|db|connections|assets) [a-z-]+)")
    assert wrong(found, is_there) == []


def test_programs_that_python_starts_exist(texts):
    """`python -m demo.tables`: a module or a package of this repository."""

    def is_there(name):
        folder = ROOT / "plugins" if name.startswith("trellis") else ROOT
        place = folder / name.replace(".", "/")
        return place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()

    ours = r"(?:demo|trainer|trellis|benchmarks|testbed)"
    assert wrong(pointers(texts, rf"\bpython3? -m ({ours}(?:\.\w+)*)"), is_there) == []


def test_targets_of_make_exist(texts):
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    assert wrong(pointers(texts, r"`make ([a-z-]+)"), targets.__contains__) == []


def test_files_of_the_repository_exist():
    """In pages, and in programs and tests with their comments."""
    paths = [*PROGRAMS, *TESTS, *PAGES, *TEMPLATES, *SETTINGS, ROOT / "Makefile"]
    texts = [(path, path.read_text()) for path in paths if path != Path(__file__)]
    folders = "|".join(sorted(path.name for path in ROOT.glob("[a-z]*") if path.is_dir()))
    suffixes = "py|md|ya?ml|json|txt|in|sh|sql|tf|j2|svg"
    named = pointers(texts, rf"(?<![\w/.@-])((?:{folders})/[\w./-]+\.(?:{suffixes}))\b")

    def is_there(name):
        return (ROOT / name).exists() or AUTHORS.search(name)

    assert wrong(named, is_there) == []


def test_places_of_a_page_exist_on_it():
    """Links within the report and within the pages of Airflow: each has its anchor."""
    for folder in {path.parent for path in TEMPLATES}:
        text = "".join(path.read_text() for path in TEMPLATES if path.parent == folder)
        anchors = set(re.findall(r"""\bid=["']([\w-]+)["']""", text))
        assert set(re.findall(r"""\bhref=["']#([\w-]+)["']""", text)) <= anchors, folder


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
    before = r"platform\.yaml: ([a-z_]+(?:\.[a-z_]+)*)"
    after = r"`([a-z_]+(?:\.[a-z_]+)*)(?:: [^`]*)?` (?:in|of) (?:the group's )?platform\.yaml"
    known = lambda key: field_of(Platform, tuple(key.split("."))) is not None  # noqa: E731
    assert wrong(pointers(texts, before), known) == []
    assert wrong(pointers(texts, after), known) == []


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
    assert wrong(pointers(texts, r"[Cc]lear `([a-z_.]+)`"), tasks.__contains__) == []


def test_tasks_whose_log_or_work_is_named_exist(texts, tasks):
    # Of the group's DAGs, and of experiments that keep requests.
    others = {"tell", "undeploy", "requests"}
    found = pointers(texts, r"(?:\btasks?|\bstage|\blog of) `([a-z_.]+)`")
    assert wrong(found, (tasks | others).__contains__) == []


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
