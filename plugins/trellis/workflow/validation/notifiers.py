"""Validates the notifiers of platform.yaml and their arguments."""

from collections.abc import Iterator
from typing import Any

from trellis.workflow.spec.notifier import MESSAGE, Notifier
from trellis.workflow.spec.platform import Platform, PlatformError
from trellis.workflow.spec.problems import Problem


def problems(platform: Platform) -> Iterator[Problem]:
    """List the problems of the notifiers, as far as they are known without sending anything."""
    for name, entry in platform.notify.items():
        try:
            instance(entry)
        except PlatformError as error:
            yield Problem((), f"{error} (platform.yaml: notify.{name})")


def instance(entry: Notifier) -> Any:
    """The notifier, an airflow.sdk.BaseNotifier. Raises PlatformError with what is wrong."""
    from airflow.sdk import BaseNotifier
    from airflow.sdk.module_loading import import_string

    try:
        kind = import_string(entry.class_)
    except ImportError as error:
        raise PlatformError(
            f"{entry.class_} cannot be imported: {error}. Install the provider that has it "
            "wherever DAGs are parsed and run, or correct the name"
        ) from None
    if not isinstance(kind, type) or not issubclass(kind, BaseNotifier):
        raise PlatformError(f"{entry.class_} is no subclass of airflow.sdk.BaseNotifier")
    try:
        notifier = kind(**entry.arguments)
    except TypeError as error:
        raise PlatformError(f"{entry.class_} does not take these arguments: {error}") from None
    templated = [n for n in entry.arguments if n in kind.template_fields]
    if not any(MESSAGE in str(entry.arguments[name]) for name in templated):
        raise PlatformError(
            f"{entry.class_} would not say what has failed: write {{{{ {MESSAGE} }}}} into one of "
            f"its templated arguments ({', '.join(kind.template_fields)})"
        )
    return notifier
