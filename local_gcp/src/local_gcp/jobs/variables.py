"""$(NAME) in a container's command, arguments and variables, as Kubernetes expands it.

https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables
and EnvVar.value in the Vertex AI API: `$(NAME)` of a variable that is defined is replaced, of
another is left as it is, and `$$(NAME)` stands for `$(NAME)`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[A-Za-z_.-][A-Za-z0-9_.-]*)\)")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with its references to `variables` replaced."""

    def replace(match: re.Match) -> str:
        if match[0] == "$$":
            return "$"
        return variables.get(match["name"], match[0])

    return _REFERENCE.sub(replace, text)


def environment(service: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Variables of the service, then the job's own, which may refer to those before them.

    The job's PYTHONPATH comes before the service's, which leads Python's clients to local_gcp.
    """
    result = dict(service)
    for name, value in own.items():
        result[name] = expand(value, result)
    paths = [each["PYTHONPATH"] for each in (result, service) if each.get("PYTHONPATH")]
    if paths:
        result["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    return result
