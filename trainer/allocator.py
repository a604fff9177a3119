"""Settings of the C library's memory allocator, so that it keeps freed memory."""

import ctypes
import platform

# Constants of glibc's <malloc.h>; mallopt(3) describes them.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3

# On 64 bits: the size of the heaps that threads allocate from (HEAP_MAX_SIZE), and the largest
# threshold that mallopt takes. glibc unmaps an empty heap unless the free memory of it and the heap
# before is below the padding, so two heaps keep them all; pages that nobody wrote take no memory.
_HEAP = 64 << 20
_LARGEST = _HEAP // 2
_NEVER = 1 << 30


def keep_freed_memory() -> None:
    """Let malloc use freed memory again instead of returning it to the system. glibc only.

    A training step allocates and frees the same megabytes as the one before. By default glibc
    unmaps a heap as soon as it is empty and large allocations at once, and the system then has to
    clear each page anew at its first use: a step of two processes that train together took 37 ms,
    then 19 (benchmarks/README.md). Allocations above 32 MiB are still unmapped.
    """
    if platform.libc_ver()[0] != "glibc":
        return
    mallopt = ctypes.CDLL(None).mallopt
    for parameter, value in (
        (_M_MMAP_THRESHOLD, _LARGEST),
        (_M_TRIM_THRESHOLD, _NEVER),
        (_M_TOP_PAD, 2 * _HEAP),
    ):
        mallopt(parameter, value)
