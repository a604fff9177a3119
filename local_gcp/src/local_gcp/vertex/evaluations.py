"""ModelService: evaluations of models, one for each model that AutoML trained here.

An evaluation is named MODEL@VERSION/evaluations/ID; a request without a version gets that of the
default version. Slices, and evaluations that clients make, are not emulated.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from google.cloud import aiplatform_v1 as api

from local_gcp import filters, names
from local_gcp.listing import masked, page
from local_gcp.state import State
from local_gcp.vertex.registry import Registry, key
from local_gcp.vertex.resources import timestamp

_SCHEMA = "gs://google-cloud-aiplatform/schema/modelevaluation"
CLASSIFICATION = f"{_SCHEMA}/classification_metrics_1.0.0.yaml"
REGRESSION = f"{_SCHEMA}/regression_metrics_1.0.0.yaml"
_FIELDS = {"metrics_schema_uri": filters.Text("metrics_schema_uri")}


class Evaluations:
    """See the module."""

    def __init__(self, state: State, registry: Registry):
        self._registry = registry
        self._table = state.table("modelEvaluations", api.ModelEvaluation)

    def put(
        self,
        model: api.Model,
        metrics: Mapping[str, Any],
        attributions: Mapping[str, float],
        slices: Sequence[str] = (),
    ) -> api.ModelEvaluation:
        """Store the evaluation of a model's version.

        `attributions`: weight of each feature; `slices`: dimensions of slices, which are not
        emulated themselves.
        """
        name = f"{key(model)}/evaluations/{names.new_id()}"
        evaluation = api.ModelEvaluation(
            name=name,
            metrics_schema_uri=REGRESSION if "rootMeanSquaredError" in metrics else CLASSIFICATION,
            metrics=dict(metrics),
            create_time=timestamp(time.time()),
            slice_dimensions=slices,
        )
        if attributions:
            evaluation.model_explanation = {
                "mean_attributions": [{"feature_attributions": dict(attributions)}]
            }
        self._table.put(name, evaluation)
        return evaluation

    def list_model_evaluations(self, request: Any, _context: Any) -> dict[str, Any]:
        matches = filters.parse_filter(request.filter, _FIELDS)
        prefix = f"{key(self._registry.find(request.parent))}/evaluations/"
        every = [evaluation for _, evaluation in self._table.list_lagging(prefix)]
        found, token = page(filter(matches, every), request.page_size, request.page_token)
        shown = [masked(evaluation, request.read_mask) for evaluation in found]
        return {"model_evaluations": shown, "next_page_token": token}
