"""Collects all problems of a request for one error."""

from __future__ import annotations

import dataclasses
import re

from local_gcp.field_errors import REQUIRED, invalid_fields
from local_gcp.wire import RpcError

NOT_EMULATED = "local_gcp does not emulate this"


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem of a request."""

    field: str
    message: str


class Problems:
    """The problems of a request; false while there are none.

    `prefix` goes before the paths of all fields, e.g. "hyperparameter_tuning_job.".
    """

    def __init__(self, prefix: str = "") -> None:
        self.found: list[Problem] = []
        self._prefix = prefix

    def __len__(self) -> int:
        return len(self.found)

    def add(self, field: str, message: str) -> None:
        """`field` is a path in the request, e.g. `study_spec.parameters[0].parameter_id`."""
        self.found.append(Problem(self._prefix + field, message))

    def check_id(self, field: str, value: str) -> None:
        """An id of a metric or parameter: there, and without white space."""
        if not value:
            self.add(field, REQUIRED)
        elif re.search(r"\s", value):
            self.add(field, f"{value!r} contains white space.")

    def error(self) -> RpcError:
        """The error with all of them."""
        return invalid_fields(*((problem.field, problem.message) for problem in self.found))
