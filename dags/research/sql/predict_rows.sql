{# The rows that a batch prediction is made of: the key, and exactly the model's features. #}
WITH source AS (
  SELECT *
  FROM {{ source }}
{% if partition %}
  WHERE {{ partition.column | identifier }} >= {{ partition.start_literal }}
    AND {{ partition.column | identifier }} < {{ partition.end_literal }}
{% endif %}
),
instances AS (
  SELECT
    CAST(source.{{ key | identifier }} AS STRING) AS key,
{% for feature in features %}
    {{ feature.expression("source." ~ (feature.name | identifier)) }} AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
  FROM source
)
SELECT
  key,
{% for feature in features %}
{% if feature.kind == "timestamp" %}
  FORMAT_TIMESTAMP('%Y-%m-%dT%H:%M:%E6SZ', {{ feature.column | identifier }}) AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% else %}
  {{ feature.clean }} AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endif %}
{% endfor %}
FROM instances
