"""Errors of rows: what they quote is in no printed message, so a test has to ask for it."""

import contextlib
import re

import pytest

from trellis_contracts.withheld import shown


@contextlib.contextmanager
def refuses(kind, match):
    """Expect an error of rows whose whole message matches, as `pytest.raises` does."""
    with pytest.raises(kind) as refused:
        yield refused
    assert re.search(match, shown(refused.value.text)), shown(refused.value.text)
