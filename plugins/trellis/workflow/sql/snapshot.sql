{% from "macros.sql" import columns_of, deciding, rows_of, split_by_rule, split_of, split_of_fold %}
{% set unit = "split_by" if split.opening == ("by",) else "key" %}
-- The frozen dataset: one row for each example, with its key, split, label and features.
WITH source AS (
  {{ rows_of(source, partition) | trim }}
),
examples AS (
  SELECT
    CAST(source.{{ key | identifier }} AS STRING) AS key,
{% if split_by %}
{% if rejected %}
    IF(source.{{ rejected | identifier }} IS NULL, {{ deciding("source." ~ (split_by | identifier), split) | trim }}, NULL) AS split_by,
    source.{{ rejected | identifier }} AS rejected,
{% else %}
    {{ deciding("source." ~ (split_by | identifier), split) | trim }} AS split_by,
{% endif %}
{% elif rejected %}
    source.{{ rejected | identifier }} AS rejected,
{% endif %}
    CAST(source.{{ label | identifier }} AS {{ label_type }}) AS label,
{% for name, type, column in beside %}
    CAST(source.{{ name | identifier }} AS {{ type }}) AS {{ column }},
{% endfor %}
{% if weight %}
    CAST(source.{{ weight | identifier }} AS FLOAT64) AS example_weight,
{% endif %}
    {{ columns_of(features) | trim }}{{ "," if kept }}
{% for column in kept %}
    source.{{ column.name | identifier }} AS {{ column.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
  FROM source
)
{% if folds %},
-- Units, a row or a group, are dealt to the folds in turn: those of the same labels one after the
-- other, in an order that their hashes make, another one in each repeat.
units AS (
  SELECT
    {{ unit }} AS unit,
    MIN({{ stratum }}) AS least,
    MAX({{ stratum }}) AS most
  FROM examples
  WHERE {{ unit }} IS NOT NULL{{ " AND rejected IS NULL" if rejected }}
  GROUP BY {{ unit }}
),
dealt AS (
  SELECT
    unit,
{% for repeat in range(1, folds.repeats + 1) %}
    MOD(ROW_NUMBER() OVER (ORDER BY least, most, FARM_FINGERPRINT(CONCAT('{{ repeat }}:', unit)), unit) - 1, {{ folds.count }}) + 1 AS fold_{{ repeat }}{{ "," if not loop.last }}
{% endfor %}
  FROM units
)
{% elif split.opening == ("stratify",) %},
-- Of each value: its rows in the order of their keys' hashes, and how many are for which split. At
-- least one for test, then for validation, but one for train before either.
ranked AS (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY split_by ORDER BY FARM_FINGERPRINT(key), key) - 1 AS stratum_place,
    COUNT(*) OVER (PARTITION BY split_by) AS stratum_size
  FROM examples
),
tested AS (
  SELECT
    *,
    LEAST(GREATEST(DIV(stratum_size * {{ split.test }} + 50, 100), 1), stratum_size - 1) AS stratum_test
  FROM ranked
),
assigned AS (
  SELECT
    *,
    LEAST(GREATEST(DIV(stratum_size * {{ split.validation }} + 50, 100), 1), stratum_size - 1 - stratum_test) AS stratum_validation
  FROM tested
)
{% endif %}
SELECT
  key,
{% if folds %}
  {{ split_of_fold("fold_1", folds) | trim }} AS split,
{% for column in folds.columns %}
  {{ column }},
{% endfor %}
{% elif split.opening in ((), ("by",)) %}
  {{ split_of("split_by" if split_by else "key", split) }} AS split,
{% else %}
  {{ split_by_rule(split) | trim }} AS split,
{% endif %}
{% if split_by %}
  split_by,
{% endif %}
  label,
{% for _, _, column in beside %}
  {{ column }},
{% endfor %}
{% if weight %}
  example_weight,
{% endif %}
{% if rejected %}
  rejected,
{% endif %}
{% for feature in features %}
  {{ feature.column | identifier }}{{ "," if kept or not loop.last }}
{% endfor %}
{% for column in kept %}
  {{ column.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
{% if folds %}
FROM examples
LEFT JOIN dealt ON dealt.unit = examples.{{ unit }}
{% else %}
FROM {{ "assigned" if split.opening == ("stratify",) else "examples" }}
{% endif %}
