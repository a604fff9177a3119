"""Messages about rows, without what they quote; the whole ones are a file of the run."""

from collections.abc import Iterable

from trellis.workflow.lookups import storage
from trellis.workflow.spec.platform import Platform
from trellis_contracts import withheld


def for_log(platform: Platform, address: str, texts: Iterable[str]) -> list[str]:
    """The messages for the log and for people; see `trellis_contracts.withheld.for_log`.

    address: of the file that gets the whole messages if they quote rows.
    """

    def write(content: bytes) -> str:
        blob = storage.blob(platform, address)
        blob.upload_from_string(content, content_type="text/plain; charset=utf-8")
        return address

    return withheld.for_log(texts, write)
