"""Docstrings begin with a verb or a noun, so that each can be read without its function."""

import ast
import re
import subprocess

from tests.airflow_side import ROOT

OPENINGS = ("As ", "Its ", "None ", "Of ", "That ", "The same")
"""Words that lean on something else: a pronoun, or a preposition whose noun is the name's."""

LEANS = re.compile(rf'"""\s*({"|".join(OPENINGS)})')
"""Whatever leans, as a text: few files have it, and those alone are parsed."""

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def leaning(source):
    """Names of a source whose docstring begins with one of the openings."""
    for node in ast.walk(ast.parse(source)) if LEANS.search(source) else ():
        if isinstance(node, DOCUMENTED) and (ast.get_docstring(node) or "").startswith(OPENINGS):
            yield getattr(node, "name", "module")


def test_a_docstring_that_leans_on_its_name_is_found():
    source = '''"""Rows."""\ndef size(rows):\n    """Of the rows."""\n'''
    assert list(leaning(source)) == ["size"]


def test_no_docstring_leans_on_its_name():
    listed = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.splitlines()]
    assert len(files) > 500
    found = {
        str(file.relative_to(ROOT)): names
        for file in files
        if file.exists() and (names := list(leaning(file.read_text())))
    }
    assert found == {}
