"""Errors of sources."""

from trellis_contracts.withheld import RowsError


class SourceError(RowsError, ValueError):
    """The source cannot be used; the message says where, why, and what was expected."""


class NoRowsError(SourceError):
    """There is nothing for this run, though there may be for another."""
