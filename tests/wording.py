"""Reads messages by the facts in them: names, numbers and keys, whatever the words between.

A sentence is asserted in one place of its family; elsewhere a test names what the sentence must
tell, so that better words break nothing.
"""

import re
from collections.abc import Iterable


def says(message: str, *facts: str | Iterable[str]) -> bool:
    """Return whether a message has the facts in this order. Several may come as one tuple.

    A number is whole: 5 is no part of 15, and 0.5 none of 10.5 or 0.52.
    """
    flat = [one for fact in facts for one in ((fact,) if isinstance(fact, str) else fact)]
    return re.search(".*".join(map(_pattern, flat)), message, re.DOTALL) is not None


def _pattern(fact: str) -> str:
    before = r"(?<!\d)(?<!\d[.,])" if fact[0].isdigit() else ""
    after = r"(?!\d|[.,]\d)" if fact[-1].isdigit() else ""
    return before + re.escape(fact) + after
