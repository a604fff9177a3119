"""A figure of a run's report, for a paper or a notebook.

    figure = trellis.load_run(...).figure("roc")
    figure.data                # a frame
    figure.save("roc.pdf")     # or .svg, .png: needs vl-convert-python

It is drawn without a browser or the network.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from trellis_contracts.charts import VERSION

FORMATS = (".pdf", ".svg", ".png")

# A figure has 72 of its units an inch, in PDF as in PNG.
_PIXELS_PER_INCH = 300


@dataclass(frozen=True, repr=False)
class Figure:
    """A Vega-Lite specification that holds its data.

    specification: may be changed before it is saved (a title, sizes, colours); any program that
    reads Vega-Lite draws it.
    """

    name: str
    specification: dict[str, Any]

    def __repr__(self) -> str:
        """Describe the figure in one line."""
        return f"<Figure {self.name}: {self.specification['description']}>"

    @property
    def data(self) -> pd.DataFrame:
        """The rows that are drawn, one column for each field."""
        return pd.DataFrame(self.specification["data"]["values"])

    def save(self, path: str | Path) -> Path:
        """Draw the figure into a file; returns its path.

        path: ends with .pdf, .svg or .png (300 pixels per inch). Raises ValueError for another
        ending and ImportError without vl-convert-python.
        """
        path = Path(path)
        form = path.suffix.lower()
        if form not in FORMATS:
            raise ValueError(f"{str(path)!r} ends with none of {', '.join(FORMATS)}")
        svg = self.svg()
        if form == ".svg":
            path.write_text(svg, encoding="utf-8")
        elif form == ".pdf":
            path.write_bytes(_vl_convert().svg_to_pdf(svg))
        else:
            path.write_bytes(_vl_convert().svg_to_png(svg, ppi=_PIXELS_PER_INCH))
        return path

    def svg(self) -> str:
        """The figure as SVG, on white. Raises ImportError without vl-convert-python."""
        specification: dict[str, Any] = copy.deepcopy(self.specification)
        specification.setdefault("background", "white")
        drawn = _vl_convert().vegalite_to_svg(
            specification, vl_version=VERSION, allowed_base_urls=[]
        )
        return str(drawn)

    def _repr_mimebundle_(self, **_: Any) -> Mapping[str, Any]:
        """Return the figure in the forms that a notebook shows."""
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}


def require_drawing() -> None:
    """Raises ImportError if no figure can be drawn here."""
    _vl_convert()


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError(
            "drawing a figure needs vl-convert-python: pip install vl-convert-python"
        ) from error
    return vl_convert
