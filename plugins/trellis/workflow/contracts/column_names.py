"""Names of columns as BigQuery's SQL and a record take them."""

import re
import unicodedata
from collections.abc import Sequence


def unique(names: Sequence[str], reserved: Sequence[str]) -> list[str]:
    """Return a unique identifier for each name: the name itself if it is one, and not reserved."""
    plain = [name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else None for name in names]
    taken = {*reserved, *(name.lower() for name in plain if name)}
    found = []
    for name, same in zip(names, plain, strict=True):
        if same is not None and same.lower() not in reserved:
            found.append(same)
            continue
        ascii_ = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        base = re.sub(r"[^A-Za-z0-9_]+", "_", ascii_).strip("_") or "column"
        base = f"c_{base}" if base[0].isdigit() else base
        alias, number = base, 2
        while alias.lower() in taken:
            alias, number = f"{base}_{number}", number + 1
        taken.add(alias.lower())
        found.append(alias)
    return found
