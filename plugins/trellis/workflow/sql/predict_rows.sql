{% from "macros.sql" import columns_of, rows_of %}
{# The rows that a batch prediction is made of: the key, and exactly the model's features. #}
WITH source AS (
  {{ rows_of(source, partition) | trim }}
),
instances AS (
  SELECT
    CAST(source.{{ key | identifier }} AS STRING) AS key,
    {{ columns_of(features) | trim }}
  FROM source
)
SELECT
  key,
{% for feature in features %}
{% if feature.kind == "timestamp" and not by_service %}
  FORMAT_TIMESTAMP('%Y-%m-%dT%H:%M:%E6SZ', {{ feature.column | identifier }}) AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% else %}
  {{ feature.clean }} AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endif %}
{% endfor %}
FROM instances
