"""Numbers of bytes as people read them."""

_UNITS = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3}


def text(count: float) -> str:
    """Return a number of bytes in the largest decimal unit of which there is one: "54.2 kB"."""
    for unit, size in _UNITS.items():
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"
