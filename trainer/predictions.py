"""predictions.parquet: a contender's predictions for every example of the test split.

`trainer.compare` scores nothing else: all contenders, full trainings and baselines of services, are
scored by one program on the same keys, not by metrics of their own services.

trellis_contracts.predictions has columns and metadata.
"""

from collections.abc import Mapping
from os import PathLike

import pyarrow as pa
import pyarrow.parquet as pq

from trainer.families import FAMILIES
from trainer.prediction_checks import PredictionsError
from trainer.prediction_forms import AnyPredictions
from trellis_contracts.documents import ContractError
from trellis_contracts.predictions import PredictionsHeader
from trellis_contracts.tasks import family_of


def write(
    path: str | PathLike,
    predictions: AnyPredictions,
    origin: Mapping[str, str] | None = None,
) -> None:
    """Write predictions.parquet to a local path.

    origin: identifies the model and its input; `origin` returns it.
    The file is built in memory and written in one go, because a Cloud Storage FUSE folder knows
    only whole objects and a reader must never see half a file.
    """
    columns = {"key": pa.array(predictions.keys, pa.string()), **predictions.arrays()}
    written = pa.table(columns, metadata=predictions.header(origin).metadata)
    _parsed(written.schema)
    buffer = pa.BufferOutputStream()
    pq.write_table(written, buffer, compression="zstd")
    with open(path, "wb") as file:
        file.write(buffer.getvalue())


def origin(path: str | PathLike) -> Mapping[str, str] | None:
    """The origin of the predictions in a file, or None.

    Raises FileNotFoundError when there is none, PredictionsError when it is not a Parquet file.
    """
    with open(path, "rb") as file:
        try:
            schema = pq.read_schema(file)
        except (pa.ArrowInvalid, OSError) as error:
            raise PredictionsError(f"not a readable Parquet file: {error}") from error
    return _parsed(schema).origin


def read(path: str | PathLike) -> AnyPredictions:
    """Read and check a predictions.parquet: of the kind that its task has.

    Raises FileNotFoundError when there is none, PredictionsError when it does not hold what the
    schema says.
    """
    with open(path, "rb") as file:
        try:
            table = pq.read_table(pa.BufferReader(file.read()))
        except (pa.ArrowInvalid, OSError) as error:
            raise PredictionsError(f"not a readable Parquet file: {error}") from error
    header = _parsed(table.schema)
    columns = {name: _column(table, name) for name in header.columns}
    found: AnyPredictions = FAMILIES[family_of(header.task)].form.of(columns, header)
    return found


def _parsed(schema: pa.Schema) -> PredictionsHeader:
    """Check a file's schema. Raises PredictionsError."""
    columns = {field.name: _type_name(field.type) for field in schema}
    try:
        return PredictionsHeader.parse(schema.metadata or {}, columns)
    except ContractError as error:
        raise PredictionsError(str(error)) from error


def _type_name(kind: pa.DataType) -> str:
    """An Arrow type; of a list without the name of its elements, which differs between writers."""
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def _column(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    if column.null_count:
        raise PredictionsError(
            f"column {name!r} is NULL in {column.null_count} of {len(column)} rows"
        )
    # combine_chunks of a chunked array with no chunk at all would fail: concat handles both.
    return pa.concat_arrays(column.chunks or [pa.array([], column.type)])
