"""KMEANS and PCA, on scikit-learn's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.decomposition import PCA

from local_gcp.bigquery.errors import invalid_query

from .learning import SEED, Progress
from .options import Options


@dataclass
class Clusters:
    """centroids: (clusters, features), in the transformed space."""

    centroids: np.ndarray

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Distances (rows, clusters)."""
        squares = (x**2).sum(axis=1)[:, None] + (self.centroids**2).sum(axis=1)
        return np.sqrt(np.maximum(squares - 2 * x @ self.centroids.T, 0))


@dataclass
class Components:
    """Principal components; `variance` is the training rows' in all directions together."""

    estimator: Any

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Projections (rows, components)."""
        return self.estimator.transform(x) if len(x) else np.zeros((0, self.count))

    @property
    def count(self) -> int:
        return len(self.estimator.components_)


def cluster(
    x: np.ndarray, initial: np.ndarray | None, options: Options, progress: Progress
) -> Clusters:
    """Lloyd's algorithm, one iteration after the other. `initial`: rows flagged as centroids."""
    count = options["num_clusters"] or max(2, int(math.log10(len(x))))
    if initial is not None and len(initial) != count:
        raise invalid_query(
            f"KMEANS_INIT_COL is TRUE in {len(initial)} rows, but NUM_CLUSTERS is {count}"
        )
    if len(x) < count:
        raise invalid_query(f"{len(x)} rows of input data cannot form {count} clusters")
    if initial is not None:
        centroids = initial
    elif options["kmeans_init_method"] == "KMEANS++":
        centroids, _ = kmeans_plusplus(x, count, random_state=SEED)
    else:
        centroids = x[np.random.default_rng(SEED).choice(len(x), count, replace=False)]
    more = True
    while more:
        step = KMeans(count, init=centroids, n_init=1, max_iter=1, tol=0).fit(x)
        centroids = step.cluster_centers_
        distances = Clusters(centroids).scores(x)
        nearest = distances.argmin(axis=1)
        closest = distances[np.arange(len(x)), nearest]
        more = progress.add(float((closest**2).mean()), clusters=_sizes(nearest, closest, count))
    return Clusters(centroids)


def _sizes(nearest: np.ndarray, distance: np.ndarray, count: int) -> list[dict[str, Any]]:
    """Of each cluster its size, and its radius: the mean distance of its rows, root mean square."""
    found = []
    for index in range(count):
        own = distance[nearest == index]
        radius = float(np.sqrt((own**2).mean())) if len(own) else 0.0
        found.append({"centroid_id": index + 1, "cluster_radius": radius, "cluster_size": len(own)})
    return found


def decompose(x: np.ndarray, options: Options) -> Components:
    """Principal components, as many as asked for."""
    wanted = options["num_principal_components"]
    if wanted is not None and wanted > min(x.shape):
        raise invalid_query(
            f"NUM_PRINCIPAL_COMPONENTS {wanted} is larger than the number of rows ({len(x)}) or "
            f"the total feature cardinality ({x.shape[1]})"
        )
    ratio = options["pca_explained_variance_ratio"]
    solver = options["pca_solver"].lower()
    if ratio is not None and solver == "randomized":
        # scikit-learn's randomized solver takes a number only: compute all, keep what is needed.
        whole = PCA(min(x.shape), svd_solver=solver, random_state=SEED).fit(x)
        reached = np.cumsum(whole.explained_variance_ratio_) > ratio
        count = int(np.argmax(reached)) + 1 if reached.any() else len(reached)
        return Components(PCA(count, svd_solver=solver, random_state=SEED).fit(x))
    solver = "full" if ratio is not None else solver
    return Components(PCA(wanted or ratio, svd_solver=solver, random_state=SEED).fit(x))
