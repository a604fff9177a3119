"""publish: a table of the run's own name, made of those that the batch prediction made.

Vertex AI names its tables by the time; rows with and without a prediction go to two of them, the
prediction as JSON text. The run's has a row for each instance: key, label or value, prediction,
error.
"""

from typing import Any

from bigquery.operators import BigQueryJobOperator
from research import sql


class PublishOperator(BigQueryJobOperator):
    """Makes the table once the job's tables are there. Returns {"job", "console"}."""

    template_fields = (*BigQueryJobOperator.template_fields, "predicted", "published")

    def __init__(self, *, predicted: Any, published: Any, **kwargs: Any):
        super().__init__(configuration=None, **kwargs)
        self.predicted = predicted
        self.published = published

    def _configuration(self, context: Any) -> dict[str, Any]:
        table = self.predicted["output"]
        errors = errors_of(table)
        statement = sql.render(
            "predict_publish",
            **self.published,
            predictions=table,
            errors=errors if self._exists(errors) else None,
        )
        return {"query": {"query": statement, "useLegacySql": False}}


def errors_of(predictions: str) -> str:
    """The table with the instances that failed, beside one with predictions: its name's time.

    https://cloud.google.com/vertex-ai/docs/tabular-data/classification-regression/get-batch-predictions
    """
    dataset, _, name = predictions.rpartition(".")
    return f"{dataset}.errors_{name.removeprefix('predictions_')}"
