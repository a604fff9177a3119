"""Collects the site's pages in .local/docs, from which `make docs` builds the site.

Beside the pages of this folder these are the reference, as the program prints it, contributing and
changelog from the repository's root, and the table of what ends soon: nothing is checked in twice.
Fails if a page names a file that does not exist, if a README links to one, or if a page is not in
the navigation. Runs in the airflow environment.
"""

import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from trellis.doctor import endings
from trellis.workflow.spec import reference
from trellis_contracts.catalog import load as load_catalog

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / ".local/docs"

# `plugins/trellis/dags.py` in a text; a word in capitals stands for a name (`stages/NAME.py`).
FILE = re.compile(
    r"`((?:\.ci|benchmarks|dags|demo|docker|docs|infra|local_gcp|plugins|tests|trainer|contracts)/[^`\s]*)`"
)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
PLACEHOLDER = re.compile(r"[A-Z]{4,}|\*")

REFERENCE = """\
# Reference of the experiment file and platform.yaml

What `trellis reference` prints. `trellis check FILE` checks a file against it.
"""


def main() -> int:
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.py", "*.in", "*.txt"))
    (PAGES / "reference.md").write_text("\n".join(_reference()))
    for name in ("CONTRIBUTING.md", "CHANGELOG.md"):
        text = (ROOT / name).read_text()
        # Links to docs/ lead from the root to where the page now lies.
        text = text.replace("](docs/", "](").replace("](CHANGELOG", "](changelog")
        (PAGES / name.lower()).write_text(text)
    page = PAGES / "deprecations.md"
    page.write_text(page.read_text().replace("<!-- endings -->", "\n".join(_endings())))
    wrong = [*_files_named(PAGES.rglob("*.md")), *_links(ROOT.glob("*.md"))]
    wrong += _outside_navigation(PAGES.rglob("*.md"))
    wrong += _links(ROOT.glob("*/README.md"))
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


def _reference() -> Iterator[str]:
    """The reference as Markdown: a table for each chapter, and for each section of the file."""
    yield REFERENCE
    for chapter in reference.chapters(load_catalog()):
        yield f"\n## {chapter.heading.partition(',')[0]}\n\n{chapter.heading.rstrip('.')}."
        names = [entry.title.rstrip("*").partition(".") for entry in chapter.entries]
        sections = {section for section, dot, _ in names if dot}
        tables: dict[str, list[str]] = {}
        for entry, (name, _, _) in zip(chapter.entries, names, strict=True):
            row = f"| `{entry.title}` | {_cell(entry.meaning)} | {_cell(entry.rule)} |"
            tables.setdefault(name if name in sections else "", []).append(row)
        for section, rows in tables.items():
            yield f"\n### {section}" if section else ""
            yield from ["", "| name | meaning | values |", "|---|---|---|", *rows]


def _endings() -> Iterator[str]:
    """What ends within two years, as a table."""
    yield from ["| what ends | when | used for | what to do | source |", "|---|---|---|---|---|"]
    for each in endings.load():
        use = each.used_for or ": ".join(filter(None, ["nothing", each.unused]))
        pages = ", ".join(f"[{title}]({address})" for title, address in each.sources.items())
        yield f"| {' | '.join(map(_cell, (each.what, each.time, use, each.do)))} | {pages} |"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("<", "&lt;")


def _files_named(pages: Iterable[Path]) -> Iterator[str]:
    """List names of files on pages of the site that do not exist."""
    for page in sorted(pages):
        for name in FILE.findall(page.read_text()):
            if not PLACEHOLDER.search(name) and not (ROOT / name).exists():
                yield f"{page.relative_to(PAGES)} names {name}, which does not exist"


def _outside_navigation(pages: Iterable[Path]) -> Iterator[str]:
    navigation = (ROOT / "mkdocs.yml").read_text()
    for name in sorted(str(page.relative_to(PAGES)) for page in pages):
        if not re.search(rf": {re.escape(name)}$", navigation, re.MULTILINE):
            yield f"{name} is not in the navigation: add it to mkdocs.yml"


def _links(pages: Iterable[Path]) -> Iterator[str]:
    """Links to nowhere on pages that are read in the repository; the site's are checked by it."""
    for page in sorted(pages):
        for target in LINK.findall(page.read_text()):
            if not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)} links to {target}, which does not exist"


if __name__ == "__main__":
    raise SystemExit(main())
