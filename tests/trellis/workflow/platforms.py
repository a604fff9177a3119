"""The group's platform as a test's runs have it."""

from typing import Any

from trellis.workflow.spec.platform import Platform


def of_tests(group: Platform, **own: Any) -> Platform:
    """The group's platform with the test's own values; short pauses before a retry and between
    two polls of a job, shorter than a group may ask for: stand-ins end within a second.
    """
    values = group.model_dump(mode="json", exclude_none=True)
    changed = Platform.model_validate(values | {"retry_seconds": 1} | own)
    return changed.model_copy(update={"poll_seconds": 0.1})
