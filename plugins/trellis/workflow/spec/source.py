"""The section `source` of an experiment file: where the examples come from.

Images, a table or a query: the keys that are present decide, and each form has only its own keys.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import model_validator

from trellis.workflow.spec.changes import Changes
from trellis.workflow.spec.image_quantities import Page, Pixels, Scale
from trellis.workflow.spec.label import Label
from trellis.workflow.spec.masks import Masks
from trellis.workflow.spec.quantities import Object, TableName
from trellis.workflow.spec.sections import OneOf, Section, Variant, broken, key
from trellis.workflow.spec.shards import AUTO, LEAST, Shards
from trellis.workflow.spec.split import KeySplit, Split
from trellis_contracts.columns import REJECTED, ImageForm

if TYPE_CHECKING:
    from trellis.workflow.spec.platform import Platform

Automl = Literal["image", "table"]
"""AutoML's products, as prices.json names them."""

ColumnType = Literal[
    "STRING", "INT64", "FLOAT64", "NUMERIC", "BOOL", "DATE", "DATETIME", "TIMESTAMP"
]
"""Types of columns, as BigQuery's SQL has them."""


class _Stored(Variant):
    """Storage of the examples for training. rejected: the column with the reason why a line is no
    example; None where only an image can be the reason.
    """

    rejected: ClassVar[str | None] = None

    split: Split = key(
        "rule that assigns examples to splits; a manifest's ML_USE column overrides it", KeySplit()
    )
    shards: Shards = key(
        "files of the train split; each worker reads its own. auto: 150 MB each, at least "
        f"{LEAST} and one for each worker",
        AUTO,
    )
    changes: Changes = key("limits of changes from one dataset to the next", Changes())
    masks: Masks | None = key(
        "of a segmentation, whose label is the address of a mask: the classes of its pixels. A "
        "mask has the size of its image, and no other values; it is resized with the image",
        None,
    )


class _ImageForm(Section):
    """Form of images in the dataset."""

    size: Pixels = key("size that images are scaled to: one side, or [height, width]")
    resize: Literal["stretch", "letterbox", "crop"] = key(
        "fit of an image of another shape: stretch changes its proportions; letterbox keeps all of "
        "it, between black bars; crop the largest part around its middle",
        "stretch",
    )
    channels: Literal[1, 3] = key("1 for grey, 3 for colour images", 3)
    scale: Scale | None = key(
        "mapping of files of more than 8 bits per channel to pixels, which then have 16: full, the "
        "range of the file's type; range, from the first number (black) to the second (white); "
        "percentiles, the same with two percentiles of each image, 1 and 99 unless they are given; "
        "window, the same with the window in a DICOM file's header. Left out: such files are "
        "refused",
        None,
    )
    pages: Page | None = key(
        "page of a TIFF file of several, or frame of a DICOM file, that is the image: its number "
        "from 1 on, first, or mean, the mean of all. Left out: such files are refused",
        None,
    )
    encoding: Literal["png", "jpeg"] = key(
        "encoding of train images: png keeps every pixel, jpeg is smaller; others are png, and all "
        "of them with `scale`",
        "jpeg",
    )

    @model_validator(mode="before")
    @classmethod
    def _scaled_as_png(cls, values: Any) -> Any:
        if not isinstance(values, Mapping) or values.get("scale") is None:
            return values
        if values.get("encoding", "png") == "jpeg":
            raise broken(
                "`encoding: jpeg` keeps 8 bits, and `scale` makes 16: write `encoding: png`"
            )
        return {"encoding": "png", **values}

    @property
    def form(self) -> ImageForm:
        """The form as the trainer reads it."""
        return ImageForm(
            self.size, self.channels, self.encoding, self.resize, self.scale, self.pages
        )


class ImageColumn(_ImageForm):
    """A column of images' addresses, gs://BUCKET/OBJECT."""


class ImageSource(_Stored, _ImageForm):
    """Images that a manifest lists."""

    opening = ("images",)
    title = "images"
    rejected = REJECTED

    images: Object = key(
        "manifest in Vertex AI's image import format, lines of [ML_USE,]gs://image,label, ML_USE "
        "being TRAIN, VALIDATION or TEST, on every line or on none; of a "
        "regression with a number as label, of a segmentation with the address of a mask"
    )
    max_rejected: float = key(
        "share of unusable images (missing, corrupt, unlabelled) above which the export fails",
        0.05,
        ge=0,
        le=1,
    )

    # A manifest's lines as rows (sql/manifest.sql), for whatever reads rows.
    key_: ClassVar[str] = "key"
    label: ClassVar[str] = "label"
    label_column: ClassVar[str] = "label"
    features: ClassVar[list[str]] = ["image"]
    weight: ClassVar[None] = None
    partition: ClassVar[None] = None
    categorical: ClassVar[list[str]] = []
    text: ClassVar[list[str]] = []
    keep: ClassVar[list[str]] = []
    data_checks: ClassVar[Literal["warn", "refuse"]] = "warn"
    vocabulary: ClassVar[int] = 1

    @property
    def image_columns(self) -> dict[str, _ImageForm]:
        """The one column of images."""
        return {"image": self}

    @property
    def most_rejected(self) -> float:
        """Share of lines that may be no examples."""
        return self.max_rejected

    def named(self, platform: "Platform") -> dict[str, str]:
        """What the rows come from: its kind, and its full name."""
        return {"manifest": platform.uri(self.images)}

    @property
    def inputs(self) -> frozenset[str]:
        """What an example holds."""
        return frozenset(["image"])

    @property
    def automl(self) -> Automl:
        """AutoML's product for such examples."""
        return "image"


class RowSource(_Stored):
    """Rows of BigQuery: a table's, or a query's."""

    key_: str = key(
        "column that identifies an example, unique; without another rule it determines the split",
        alias="key",
        min_length=1,
    )
    label: Label = key("column to predict, or those of the time to an event")
    features: list[str] | None = key(
        "columns to predict it from; left out: all except key, label, weight, partition and `keep`",
        None,
        min_length=1,
    )
    weight: str | None = key(
        "column of numbers, 0 or more: what a row counts in the loss that training minimizes; "
        "never a feature, and metrics count every row once",
        None,
        min_length=1,
    )
    categorical: list[str] = key(
        "integer columns to treat as categories, as STRING columns are", []
    )
    text: list[str] = key(
        "STRING columns to read as free text, by their words and pairs of words; other STRING "
        "columns are categories",
        [],
    )
    image_columns: dict[str, ImageColumn] = key(
        "STRING columns that hold addresses of images, gs://BUCKET/OBJECT, by name: the images are "
        "features, beside the other columns",
        {},
    )
    max_rejected: float | None = key(
        "share of rows with an unusable image (no address, missing, corrupt) above which the "
        "export fails; left out: 0.05",
        None,
        ge=0,
        le=1,
    )
    keep: list[str] = key(
        "further columns to freeze with the rows, such as sex or site: never features, and "
        "`run.rows()` has them",
        [],
    )
    data_checks: Literal["warn", "refuse"] = key(
        "action on a sign of leakage, before anything is trained: a feature that gives the label "
        "away, an identifier, rows that belong together or are copies in two splits",
        "warn",
    )
    partition: str | None = key(
        "DATE, DATETIME or TIMESTAMP column: a run takes the rows of its data interval (UTC)",
        None,
        min_length=1,
    )
    vocabulary: int = key(
        "most frequent values of a categorical column that stay separate; all others count as one",
        1000,
        ge=1,
        le=1_000_000,
    )

    @property
    def label_column(self) -> str:
        """The column to predict, the first of several."""
        return self.label_columns["label"]

    @property
    def label_columns(self) -> dict[str, str]:
        """The columns to predict, by their roles."""
        return {"label": self.label} if isinstance(self.label, str) else self.label.columns

    @property
    def most_rejected(self) -> float:
        """Share of rows that may have an unusable image."""
        return 0.05 if self.max_rejected is None else self.max_rejected

    @property
    def inputs(self) -> frozenset[str]:
        """What an example holds: the trainer's names of images and columns."""
        images = {name.lower() for name in self.image_columns}
        if self.features is not None and {name.lower() for name in self.features} <= images:
            return frozenset(["image"])
        return frozenset(["image", "table"] if images else ["table"])

    @property
    def automl(self) -> Automl:
        """AutoML's product for such examples: that of images learns from one image alone."""
        alone = self.inputs == {"image"} and len(self.features or ()) == 1
        return "image" if alone else "table"


class TableSource(RowSource):
    """Rows of a table or view."""

    opening = ("bigquery",)
    title = "tables"

    bigquery: TableName = key("table or view")

    def named(self, platform: "Platform") -> dict[str, str]:
        """What the rows come from: its kind, and its full name."""
        return {"table": platform.table(self.bigquery)}


class QuerySource(RowSource):
    """Rows of a query."""

    opening = ("query",)
    title = "queries"

    query: str = key("one SELECT in GoogleSQL, in place of a table", min_length=1)

    def named(self, platform: "Platform") -> dict[str, str]:
        """What the rows come from: its kind, and the query."""
        return {"query": self.query}


class FilesSource(RowSource):
    """Rows of files in Cloud Storage."""

    opening = ("files",)
    title = "files"

    files: Object = key(
        "Parquet, CSV, JSON lines or Avro files with the same columns, as their names end; * in a "
        "name stands for any characters but /, ** for any: a run loads them into BigQuery, which "
        "is free"
    )
    types: dict[str, ColumnType] = key(
        "BigQuery's types of columns of CSV or JSON lines files that it would detect wrongly, such "
        "as STRING of a number with leading zeros",
        {},
    )

    def named(self, platform: "Platform") -> dict[str, str]:
        """What the rows come from: its kind, and the files' full names."""
        return {"files": platform.uri(self.files)}


Source = Annotated[
    ImageSource | TableSource | QuerySource | FilesSource,
    OneOf(
        "one of `images: MANIFEST`, `bigquery: TABLE`, `query: SQL` and `files: FILES`",
        "nothing to read",
        "a manifest lists images alone. For images beside other columns, name the column of a "
        "table or query that holds their addresses under `image_columns`",
    ),
]
