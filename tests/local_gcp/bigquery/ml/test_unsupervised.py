"""KMEANS and PCA against scikit-learn and against what is known of the data."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import davies_bouldin_score
from sklearn.preprocessing import StandardScaler

from local_gcp.bigquery.errors import BigQueryError

from .conftest import table, train


def blobs(n=300):
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    return np.vstack([rng.normal(c, 0.5, (n // 3, 2)) for c in centres]), centres


@pytest.mark.parametrize("standardize", [True, False])
def test_clusters_are_found_and_centroids_given_in_the_columns_own_unit(standardize):
    x, centres = blobs()
    model = train(
        table(x),
        "KMEANS",
        num_clusters=3,
        kmeans_init_method="KMEANS++",
        standardize_features=standardize,
    )
    found = model.ask("CENTROIDS").to_pylist()
    assert [row["feature"] for row in found] == ["x0", "x1"] * 3
    assert [row["centroid_id"] for row in found] == [1, 1, 2, 2, 3, 3]
    points = np.array([row["numerical_value"] for row in found]).reshape(3, 2)
    assert sorted(map(tuple, points.round())) == sorted(map(tuple, centres))
    evaluation = model.first("EVALUATE")
    z = StandardScaler().fit_transform(x) if standardize else x
    direct = KMeans(3, random_state=0, n_init=5).fit(z)
    assert evaluation["mean_squared_distance"] == pytest.approx(direct.inertia_ / len(x))
    assert evaluation["davies_bouldin_index"] == pytest.approx(
        davies_bouldin_score(z, direct.labels_)
    )
    assert model.first("EVALUATE", table(x)) == pytest.approx(evaluation)


def test_prediction_gives_the_nearest_centroids_in_order():
    x, _ = blobs()
    model = train(table(x), "KMEANS", num_clusters=7, standardize_features=False)
    found = model.ask("PREDICT", table(x, key=np.arange(300)))
    assert found.column_names == ["CENTROID_ID", "NEAREST_CENTROIDS_DISTANCE", "x0", "x1", "key"]
    centroids = model.trained.predictor.centroids
    for row, point in zip(found.to_pylist(), x, strict=True):
        near = row["NEAREST_CENTROIDS_DISTANCE"]
        assert len(near) == 5
        assert near[0]["CENTROID_ID"] == row["CENTROID_ID"]
        distances = [n["DISTANCE"] for n in near]
        assert distances == sorted(distances)
        direct = np.linalg.norm(centroids[row["CENTROID_ID"] - 1] - point)
        assert near[0]["DISTANCE"] == pytest.approx(direct, abs=1e-6)


def test_custom_initial_centroids_are_the_flagged_rows():
    x, _ = blobs()
    first = np.isin(np.arange(300), [0, 100, 200])
    model = train(
        table(x, first=first),
        "KMEANS",
        num_clusters=3,
        kmeans_init_method="CUSTOM",
        kmeans_init_col="first",
    )
    assert [f.name for f in model.trained.encoder.fields] == ["x0", "x1"]
    assert model.trained.iterations[0].loss < 0.1
    with pytest.raises(BigQueryError, match="TRUE in 3 rows, but NUM_CLUSTERS is 4"):
        train(
            table(x, first=first),
            "KMEANS",
            num_clusters=4,
            kmeans_init_method="CUSTOM",
            kmeans_init_col="first",
        )


def test_the_default_number_of_clusters_and_too_few_rows():
    x, _ = blobs()
    assert len(train(table(x), "KMEANS").trained.predictor.centroids) == 2  # log10(300)
    with pytest.raises(BigQueryError, match="3 rows of input data cannot form 5 clusters"):
        train(table(x[:3]), "KMEANS", num_clusters=5)


def test_iterations_tell_the_clusters_sizes():
    x, _ = blobs()
    model = train(table(x), "KMEANS", num_clusters=3)
    found = model.ask("TRAINING_INFO")
    assert found.column_names == [
        "training_run",
        "iteration",
        "loss",
        "duration_ms",
        "cluster_info",
    ]
    for row in found.to_pylist():
        assert sum(c["cluster_size"] for c in row["cluster_info"]) == 300


def test_categories_have_their_share_in_centroids():
    rows = pa.table({"x": [0.0, 0.1, 9.0, 9.1], "word": ["a", "b", "c", "c"]})
    model = train(rows, "KMEANS", num_clusters=2, kmeans_init_method="KMEANS++")
    shares = [
        {c["category"]: c["value"] for c in row["categorical_value"]}
        for row in model.ask("CENTROIDS").to_pylist()
        if row["feature"] == "word"
    ]
    assert sorted(shares, key=lambda s: s["a"]) == [
        {"a": 0.0, "b": 0.0, "c": 1.0},
        {"a": 0.5, "b": 0.5, "c": 0.0},
    ]


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("solver", ["FULL", "RANDOMIZED", "AUTO"])
def test_components_agree_with_scikit_learn(iris, scale, solver):
    rows = iris.drop_columns(["label"])
    model = train(rows, "PCA", num_principal_components=2, scale_features=scale, pca_solver=solver)
    x = np.column_stack([c.to_numpy() for c in rows.columns])
    x = StandardScaler(with_std=scale).fit_transform(x)
    direct = PCA(2).fit(x)
    found = model.ask("PREDICT", rows)
    assert found.column_names == ["principal_component_1", "principal_component_2"]
    own = np.column_stack([c.to_numpy() for c in found.columns])
    assert np.abs(own) == pytest.approx(np.abs(direct.transform(x)), abs=1e-3)
    info = model.ask("PRINCIPAL_COMPONENT_INFO")
    assert info["principal_component_id"].to_pylist() == [0, 1]
    assert info["eigenvalue"].to_pylist() == pytest.approx(direct.explained_variance_, rel=1e-6)
    total = direct.explained_variance_ratio_.sum()
    assert model.first("EVALUATE")["total_explained_variance_ratio"] == pytest.approx(total)
    assert model.first("EVALUATE", rows)["total_explained_variance_ratio"] == pytest.approx(total)


@pytest.mark.parametrize("solver", ["FULL", "RANDOMIZED"])
def test_as_many_components_as_explain_the_ratio(iris, solver):
    rows = iris.drop_columns(["label"])
    model = train(rows, "PCA", pca_explained_variance_ratio=0.8, pca_solver=solver)
    ratios = model.ask("PRINCIPAL_COMPONENT_INFO")["cumulative_explained_variance_ratio"]
    assert len(ratios) == 2
    assert ratios[1].as_py() > 0.8 > ratios[0].as_py()


def test_components_keep_other_columns_and_features_when_asked(iris):
    model = train(iris.drop_columns(["label"]), "PCA", num_principal_components=1)
    assert model.ask("PREDICT", iris).column_names == ["principal_component_1", "label"]
    kept = model.ask("PREDICT", iris, keep_original_columns=True)
    assert kept.column_names == ["principal_component_1", "x0", "x1", "x2", "x3", "label"]
    rows = model.ask("PRINCIPAL_COMPONENTS").to_pylist()
    assert [r["feature"] for r in rows] == ["x0", "x1", "x2", "x3"]
    assert sum(r["numerical_value"] ** 2 for r in rows) == pytest.approx(1)


def test_more_components_than_columns_are_refused(iris):
    with pytest.raises(BigQueryError, match="larger than"):
        train(iris.drop_columns(["label"]), "PCA", num_principal_components=5)
