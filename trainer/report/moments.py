"""Formats dates and durations."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(iso: str) -> str:
    """2026-01-01 07:30:00 UTC for a reader; only the date if it is midnight UTC."""
    try:
        found = datetime.fromisoformat(iso).astimezone(UTC)
    except (TypeError, ValueError):
        return str(iso)
    if found.time() == datetime.min.time():
        return found.date().isoformat()
    return f"{found:%Y-%m-%d %H:%M:%S} UTC"


def day(seconds: float) -> str:
    """The UTC date of a Unix time in seconds, which is negative before 1970."""
    try:
        return (_EPOCH + timedelta(seconds=seconds)).date().isoformat()
    except OverflowError:
        return f"{seconds:.4g} s"


def duration(seconds: float) -> str:
    """2 h 05 min, 3 min 07 s, 4.2 s."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{seconds:.1f} s"
