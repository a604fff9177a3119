"""Adds a run's cost to its report.

trainer.compare writes the report before the run has ended, with a place for the cost between two
marks (trainer/report/templates/cost.html.j2). The run's last task fills it.
"""

from collections.abc import Mapping
from html import escape

from google.cloud.exceptions import NotFound

from trellis.workflow.contracts.plan import Plan
from trellis.workflow.lookups import storage
from trellis.workflow.spec.platform import Platform

_SAVED = '<th scope="col" class="number">Spot machines saved of it, USD</th>'

BEGIN, END = "<!-- cost: begin -->", "<!-- cost: end -->"


def write(
    platform: Platform,
    uri: str,
    plan: Plan,
    actual: Mapping[str, float],
    saved: Mapping[str, float],
) -> None:
    """Fill the place of the report at `uri`, whatever is in it already.

    actual: US dollars by stage; saved: what spot machines saved of that. A report
    without the place, of an older trainer, stays as it is.
    Raises google.cloud.exceptions.PreconditionFailed if another process writes the report at the
    same time, and what else Google's client raises.
    """
    blob = storage.blob(platform, uri)
    try:
        blob.reload()
    except NotFound:
        return
    page = blob.download_as_text(if_generation_match=blob.generation)
    filled = fill(page, table(plan.cost["stages"], actual, saved))
    if filled != page:
        blob.upload_from_string(
            filled, content_type="text/html", if_generation_match=blob.generation
        )


def fill(page: str, content: str) -> str:
    """The page with this content between its marks; the page itself if it has none."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}\n{content}\n{END}{after}" if begin and end else page


def table(
    at_most: Mapping[str, float], actual: Mapping[str, float], saved: Mapping[str, float]
) -> str:
    """HTML: a line for each stage, with the plan's limit and what it came to, in US dollars.

    saved: what spot machines have saved of that; without any, there is no such column.
    """
    stages = dict.fromkeys([*at_most, *actual])
    columns = [at_most, actual, *([saved] if saved else [])]
    lines = [_line("td", stage, *(column.get(stage) for column in columns)) for stage in stages]
    total = _line("th", "together", *(sum(column.values()) for column in columns))
    return "\n".join(
        [
            '<p class="lede">By its jobs&rsquo; own times and billed bytes, at list prices: an '
            "estimate. Spot machines count at on-demand prices. The deployed model, predictions, "
            "storage and discounts are left out.</p>",
            '<div class="scroll"><table class="narrow">',
            '<thead><tr><th scope="col">Stage</th>'
            '<th scope="col" class="number">The plan allowed, USD</th>'
            '<th scope="col" class="number">It came to, USD</th>'
            f"{_SAVED if saved else ''}</tr></thead>",
            f"<tbody>{''.join(lines)}</tbody>",
            f"<tfoot>{total}</tfoot>",
            "</table></div>",
        ]
    )


def _line(cell: str, stage: str, *values: float | None) -> str:
    numbers = "".join(f'<{cell} class="number">{_usd(value)}</{cell}>' for value in values)
    return f'<tr><th scope="row">{escape(stage)}</th>{numbers}</tr>'


def _usd(value: float | None) -> str:
    if value is None:
        return "&ndash;"
    return f"{value:,.2f}" if value >= 0.005 or value == 0 else "&lt; 0.01"
