{% from "macros.sql" import columns_of, rows_of, split_of %}
-- The frozen dataset: one row for each example, with its key, split, label and features.
WITH source AS (
  {{ rows_of(source, partition) | trim }}
),
examples AS (
  SELECT
    CAST(source.{{ key | identifier }} AS STRING) AS key,
{% if split_by %}
    CAST(source.{{ split_by | identifier }} AS STRING) AS split_by,
{% endif %}
    CAST(source.{{ label | identifier }} AS {{ label_type }}) AS label,
    {{ columns_of(features) | trim }}
  FROM source
)
SELECT
  key,
  {{ split_of("split_by" if split_by else "key", split, "train") }} AS split,
{% if split_by %}
  split_by,
{% endif %}
  label,
{% for feature in features %}
  {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
FROM examples
