"""Reads messages by the facts in them: names, numbers and keys, whatever the words between.

A sentence is asserted in one place of its family; elsewhere a test names what the sentence must
tell, so that better words break nothing.
"""

import re
from collections.abc import Iterable


def says(message: str, *facts: str | Iterable[str]) -> bool:
    """Return whether a message has the facts in this order. Several may come as one tuple."""
    flat = [one for fact in facts for one in ((fact,) if isinstance(fact, str) else fact)]
    return re.search(".*".join(map(re.escape, flat)), message, re.DOTALL) is not None
