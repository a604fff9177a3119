"""The text of a finding."""

import textwrap


def text(head: str, problem: str, why: str, fix: str) -> str:
    """A blank line, then the paragraph. The command stays on one line, so that it can be copied."""
    indent = " " * len(head)
    lines = [
        *textwrap.wrap(head + problem, 100, subsequent_indent=indent, break_on_hyphens=False),
        *textwrap.wrap(why, 100, initial_indent=indent, subsequent_indent=indent),
        indent + fix,
    ]
    return "\n" + "\n".join(lines)
