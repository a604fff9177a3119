"""Messages to people, through the notifiers of platform.yaml."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from trellis.workflow.spec.notifier import MESSAGE, SUBJECT, Notifier
from trellis.workflow.spec.platform import Platform
from trellis.workflow.validation.notifiers import instance

log = logging.getLogger("airflow.task")


def tell(platform: Platform, context: Any, text: str) -> None:
    """Write a message into the task's log, where infra/alerts.tf looks for its first words, and
    send it.
    """
    log.warning("%s", text)
    send(platform, context, text)


def send(platform: Platform, context: Any, text: str) -> None:
    """Send a message. A notifier that fails keeps no other from its work, and is in the log."""
    for name, entry in platform.notify.items():
        try:
            instance(entry)(_with(context, text))
        except Exception:
            log.exception("The notifier '%s' of platform.yaml failed", name)


async def send_from_triggerer(
    notifiers: Mapping[str, Notifier], context: Mapping[str, Any], text: str
) -> None:
    """Send from the triggerer, where a callback must not block: Airflow runs those of deadlines
    there.
    """
    for name, entry in notifiers.items():
        try:
            notifier = instance(entry)
            notifier.context = _with(context, text)
            try:
                await notifier
            except NotImplementedError:
                await asyncio.to_thread(notifier, notifier.context)
        except Exception:
            log.exception("The notifier '%s' of platform.yaml failed", name)


def _with(context: Any, text: str) -> dict[str, Any]:
    return {**context, MESSAGE: text, SUBJECT: text.partition("\n")[0]}
