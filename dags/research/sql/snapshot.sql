{% from "macros.sql" import split_of %}
-- The frozen dataset: one row for each example, with its key, split, label and features.
WITH source AS (
  SELECT *
  FROM {{ source }}
{% if partition %}
  WHERE {{ partition.column | identifier }} >= {{ partition.start_literal }}
    AND {{ partition.column | identifier }} < {{ partition.end_literal }}
{% endif %}
),
examples AS (
  SELECT
    CAST(source.{{ key | identifier }} AS STRING) AS key,
    CAST(source.{{ label | identifier }} AS {{ label_type }}) AS label,
{% for feature in features %}
    {{ feature.expression("source." ~ (feature.name | identifier)) }} AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
  FROM source
)
SELECT
  key,
  {{ split_of("key", split, "train") }} AS split,
  label,
{% for feature in features %}
  {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
FROM examples
