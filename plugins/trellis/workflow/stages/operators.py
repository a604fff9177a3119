"""The operators of stages that need more than one of trellis.vertex, .bigquery or .dataflow.

Apart from the stages' modules, since what derives from the provider's operators imports them: the
stages are read by commands that run without Airflow.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from airflow.providers.standard.utils.skipmixin import SkipMixin
from airflow.sdk import BaseOperator

from trellis.bigquery.operators import BigQueryJobOperator
from trellis.dataflow.operators import FlexTemplateOperator
from trellis.vertex.operators import (
    BatchPredictionJobOperator,
    CustomJobOperator,
    HyperparameterTuningJobOperator,
    OneJobPerTask,
)
from trellis.workflow.lookups import reused, storage
from trellis.workflow.pricing import jobs
from trellis.workflow.stages import job_messages
from trellis_contracts.layout import trained_model


class CheckOperator(BigQueryJobOperator):
    """Runs a query of one row, and returns the judgement of the row.

    passed: a function of the context; if it returns a text, the rows need no check and the text
    says why. judge: a function of the context and the row.
    """

    def __init__(
        self,
        *,
        passed: Callable[[Any], str | None],
        judge: Callable[[Any, Mapping[str, Any]], Any],
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._passed = passed
        self._judge = judge

    def execute(self, context: Any) -> Any:
        if (why := self._passed(context)) is not None:
            print(why)
            return None
        return super().execute(context)

    def _result(self, context: Any, job: Any) -> Any:
        (found,) = job.result()
        return self._judge(context, dict(found.items()))


class ExportOperator(FlexTemplateOperator):
    """Writes a dataset from the frozen rows."""

    def _reads(self) -> Iterable[str]:
        # The description of a table's rows is beside them.
        source = self.body["launchParameter"]["parameters"]["source"]
        folder, _, name = source.rpartition("/")
        yield f"{folder}/" if name == "columns.json" else source


class Priced(OneJobPerTask):
    """Mixed in before an operator of Vertex AI whose job names its machines."""

    def per_hour(self, job: Any) -> float:
        """US dollars an hour of a job of this task, of a search of one trial."""
        return jobs.per_hour(job, self.region)


class PredictOperator(Priced, BatchPredictionJobOperator):
    """Predicts on machines that its job names; a model of AutoML's on those that Google chooses, at
    `usd_per_hour`.
    """

    def per_hour(self, job: Any) -> float | None:  # type: ignore[override]
        """US dollars an hour of a job of this task."""
        named = job.dedicated_resources.machine_spec.machine_type
        return super().per_hour(job) if named else self.usd_per_hour


class ScoreOperator(Priced, CustomJobOperator):
    """Scores earlier predictions."""


class FoldsOperator(Priced, CustomJobOperator):
    """Makes the datasets of folds.

    :param unless: address of the file that is written last (templated): if it exists, there is no
        job. The task succeeds nevertheless, as trainings follow it.
    """

    template_fields: Sequence[str] = (*CustomJobOperator.template_fields, "unless")

    def __init__(self, *, unless: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self.unless = unless

    def execute(self, context: Any) -> Any:
        if storage.exists(self.gcp_conn_id, self.unless):
            self.log.info("No job: %s exists", self.unless)
            return None
        return super().execute(context)


class CheckFilesOperator(Priced, CustomJobOperator):
    """Checks files of predictions. It writes nothing."""


class PartQueryOperator(BigQueryJobOperator):
    """Runs a query for a fold. part: the fold; None: there are none."""

    def __init__(self, *, part: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.part = part


class TuneOperator(Priced, HyperparameterTuningJobOperator):
    """Runs the search.

    :param reused: {"source", "target"}: folder of an earlier search's trials that is copied in
        place of a job (templated); None: there is none.
    :param part: the fold that it searches in; None: there are none, or it is of the model to
        deploy.
    """

    template_fields: Any = (*HyperparameterTuningJobOperator.template_fields, "reused")

    def __init__(self, *, reused: Any, part: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.reused = reused
        self.part = part

    def _reads(self) -> Iterable[str]:
        return job_messages.read_by(self._message().trial_job_spec, self.reused)

    def execute(self, context: Any) -> Any:
        if self.reused is None:
            return super().execute(context)
        self.log.info("Reused, no job: %s", self.reused["source"])
        return reused.tuning(self.gcp_conn_id, **self.reused)


class TrainOperator(Priced, CustomJobOperator):
    """Trains one trial in full.

    :param chosen: an entry of trials.json's `chosen`, or UNTUNED; of one of the experiment's other
        models with its "model", of a repeat with its "seed", of a fold with its "part".
    :param reused: {"source", "target"}: folder of an earlier training that is copied in place of a
        job (templated); None: there is none.
    """

    template_fields: Sequence[str] = (*CustomJobOperator.template_fields, "reused")

    def __init__(self, *, chosen: dict[str, Any], reused: Any, **kwargs: Any):
        super().__init__(**kwargs)
        self.chosen = chosen
        self.reused = reused

    def _reads(self) -> Iterable[str]:
        return job_messages.read_by(self._message().job_spec, self.reused)

    def _writes(self) -> Iterable[str]:
        for folder in super()._writes():
            yield folder
            yield trained_model(folder)

    def execute(self, context: Any) -> Any:
        if self.reused is None:
            return super().execute(context)
        self.log.info("Reused, no job: %s", self.reused["source"])
        copied = reused.training(self.gcp_conn_id, **self.reused)
        return {**copied, "output": self.reused["target"]}


class CompareOperator(Priced, CustomJobOperator):
    """Compares again if the contenders have changed since the last comparison: a training or a
    baseline was cleared, or another model is served. Else adopts the run's existing comparison.

    :param reads: the folders of the trainings (templated).
    :param writes: the folder of the leaderboard (templated).
    :param contenders: a function of the context: what is compared, for JSON.
    """

    template_fields: Sequence[str] = (*CustomJobOperator.template_fields, "reads", "writes")

    def __init__(self, *, reads: Any, writes: Any, contenders: Callable[[Any], Any], **kwargs: Any):
        super().__init__(**kwargs)
        self.reads = reads
        self.writes = writes
        self._contenders = contenders

    def _reads(self) -> Iterable[str]:
        return self.reads

    def _writes(self) -> Iterable[str]:
        return (self.writes,)

    def execute(self, context: Any) -> Any:
        text = json.dumps(self._contenders(context), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.generation = f"{self.generation}-{digest}"
        return super().execute(context)


class EnsembleOperator(CompareOperator):
    """Makes the ensemble again if its trainings have changed. writes: the ensemble's folder."""

    def _writes(self) -> Iterable[str]:
        return (self.writes, trained_model(self.writes))


class OutputsOperator(CompareOperator):
    """Checks the trainings again if they have changed. It writes nothing."""

    def _writes(self) -> Iterable[str]:
        return ()


class PromoteOperator(BaseOperator, SkipMixin):
    """Returns the decision: the downstream tasks run if it is promoted; else they are skipped, even
    when they are cleared.

    A BaseOperator, as Airflow keeps cleared tasks skipped only below operators, not functions.

    decide: a function of the context, returns {"promoted", "reason", "challenger", "checks",
    "served"}.
    """

    def __init__(self, *, decide: Callable[[Any], dict[str, Any]], **kwargs: Any):
        super().__init__(**kwargs)
        self._decide = decide

    def execute(self, context: Any) -> dict[str, Any]:
        decision = self._decide(context)
        if decision["promoted"]:
            return decision
        # `skip` raises an exception, which would lose the return value.
        context["ti"].xcom_push(key="return_value", value=decision)
        self.skip(context["ti"], self.get_direct_relatives(upstream=False))
        return decision
