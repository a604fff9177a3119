"""Columns that are kept, in the snapshot that BigQuery makes."""

import pytest

from trellis.workflow.contracts import table
from trellis.workflow.lookups.bigquery_source import snapshot_sql
from trellis.workflow.validation.file import with_changes

ROWS = """(
  SELECT 'k1' AS sample_id, DATE '2024-01-01' AS measured_on, TRUE AS malignant, 1.5 AS radius,
    'w' AS `Geschlecht (m/w)`, [1, 2] AS visits, 'north' AS split
  UNION ALL
  SELECT 'k2', DATE '2024-01-02', FALSE, 2.5, NULL, [3], 'south'
)"""
COLUMNS = {
    "sample_id": "STRING",
    "measured_on": "DATE",
    "malignant": "BOOL",
    "radius": "FLOAT64",
    "Geschlecht (m/w)": "STRING",
    "visits": "ARRAY<INT64>",
    "split": "STRING",
}


@pytest.mark.parametrize("rule", [{}, {"split": {"stratify": "malignant"}}])
def test_the_snapshot_has_them_as_they_are(google, breast_cancer, rule):
    from google.cloud import bigquery

    keep = ["Geschlecht (m/w)", "visits", "split", "measured_on"]
    changes = {"keep": keep, **rule}
    changed = with_changes(breast_cancer, {("source", name): v for name, v in changes.items()})
    known = [table.Column(name, type_) for name, type_ in COLUMNS.items()]
    described = table.resolve(changed, "rows", known)
    assert [feature.name for feature in described.features] == ["radius"]
    client = bigquery.Client(project="local-gcp", location="US")
    statement = snapshot_sql(changed, described, ROWS, None)
    rows = {row["key"]: dict(row) for row in client.query(statement).result()}
    kept = {one.name: one.column for one in described.kept}
    assert list(kept) == keep
    assert [rows["k1"][kept[name]] for name in keep[:3]] == ["w", [1, 2], "north"]
    assert [rows["k2"][kept[name]] for name in keep[:3]] == [None, [3], "south"]
    assert rows["k1"][kept["measured_on"]].isoformat() == "2024-01-01"
