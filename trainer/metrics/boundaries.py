"""How far the boundaries of two regions of an image lie apart.

As MONAI's compute_hausdorff_distance with percentile=95 (which tests compare): a region's boundary
is what a binary erosion by the four neighbours takes away, so that it runs along the image's edge,
too; of the distances of each boundary's pixels from the other boundary the 95th percentile is
taken, linearly interpolated, and of both directions the larger one counts. scikit-image's
hausdorff_distance takes the largest distance instead, which one stray pixel decides.
"""

import numpy as np
from scipy import ndimage

_PERCENT = 95


def boundary_distance(first: np.ndarray, second: np.ndarray) -> float:
    """The 95th percentile of the distance between two boundaries, in pixels; NaN if a region is
    empty. first, second: (height, width) bool.
    """
    if not (first.any() and second.any()):
        return float("nan")
    # Distances are looked up at boundaries alone, which lie within this box.
    box = _box(first | second)
    edges = [_boundary(region[box]) for region in (first, second)]
    directed = [
        np.percentile(ndimage.distance_transform_edt(~to)[of], _PERCENT)
        for of, to in (edges, edges[::-1])
    ]
    return float(max(directed))


def _box(region: np.ndarray) -> tuple[slice, ...]:
    places = [np.flatnonzero(region.any(axis=1 - axis)) for axis in (0, 1)]
    return tuple(slice(along[0], along[-1] + 1) for along in places)


def _boundary(region: np.ndarray) -> np.ndarray:
    found: np.ndarray = region & ~ndimage.binary_erosion(region)
    return found
