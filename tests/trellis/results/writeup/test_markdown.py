import re

import pytest

from trellis.results.writeup import markdown


@pytest.mark.parametrize("text", ["a|b", "a\nb", "a`b", "| x |"])
def test_no_name_breaks_a_table(text):
    lines = markdown.table(["name", "n"], [[markdown.code(text), 1]]).splitlines()
    assert len(lines) == 3
    assert len(re.findall(r"(?<!\\)\|", lines[2])) == 3
