"""Reads the tables of an HTML page, each row as its cells by the heading above them."""

from html.parser import HTMLParser


class _Tables(HTMLParser):
    """The first row of a table has its headings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[dict[str, str]] = []
        self.headings: list[str] | None = None
        self.cells: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "table":
            self.headings = None
        elif tag in ("td", "th"):
            self.cells.append("")
        elif tag == "br":
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            cells = [" ".join(cell.split()) for cell in self.cells]
            if self.headings is None:
                self.headings = cells
            else:
                self.rows.append(dict(zip(self.headings, cells, strict=True)))
            self.cells = []


def row(page: str, heading: str, text: str) -> dict[str, str]:
    """Return the row with this text in the column of that heading.

    Raises:
        ValueError: there is none, or several.
    """
    (found,) = [each for each in _Tables(page).rows if each.get(heading) == text]
    return found
