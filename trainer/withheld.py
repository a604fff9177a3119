"""Messages about rows, without what they quote; the whole ones are a file in the bucket. An export
has its own, as its workers have no mounted bucket (`exporting.refusal`).
"""

from trainer import storage
from trellis_contracts import withheld
from trellis_contracts.withheld import RowsError


def for_log(error: Exception, address: str) -> list[str]:
    """The messages of an error for logs and people; see `trellis_contracts.withheld.for_log`.

    address: of the file that gets the whole message if it quotes rows.
    """
    if not isinstance(error, RowsError):
        return [str(error)]

    def write(content: bytes) -> str:
        storage.write_bytes(address, content)
        return address

    return withheld.for_log([error.text], write)
