"""Settings of NumPy's sort: without instructions that one family of processors is slow at.

With AVX-512, NumPy compresses vectors into memory, which takes AMD's Zen 4 over a hundred cycles
each (https://github.com/numpy/x86-simd-sort/issues/6); OpenJDK leaves it out there, too
(https://github.com/openjdk/jdk/pull/24053). With AVX2 the same machine sorts four times as fast.
"""

import os
import re
from pathlib import Path

# NumPy's names of its code paths for AVX-512, from NumPy 2.4 on.
_AVX_512 = "X86_V4 AVX512_ICL"

# Zen 3, without AVX-512, and Zen 4. Zen 5 is family 26.
_FAMILY = 25


def choose(processors: Path = Path("/proc/cpuinfo")) -> None:
    """Choose for this process and its children; before NumPy is imported.

    Does nothing if NPY_DISABLE_CPU_FEATURES is set, or the system does not name its processors.
    """
    if processors.exists() and _is_slow(processors.read_text()):
        os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", _AVX_512)


def _is_slow(described: str) -> bool:
    found = dict(re.findall(r"^(\S[^\t:]*?)\s*: (.*)$", described, re.MULTILINE))
    return (
        found.get("vendor_id") == "AuthenticAMD"
        and found.get("cpu family") == str(_FAMILY)
        and "avx512f" in found.get("flags", "").split()
    )
