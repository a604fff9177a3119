{# What an endpoint was asked between two moments, or has answered: a row for each instance. #}
SELECT
{% if answer %}
{% if answer == "label" %}
  IFNULL(JSON_VALUE(payload, '$.label'), ARRAY_TO_STRING(JSON_VALUE_ARRAY(payload, '$.labels'), '|')) AS label,
{% else %}
  SAFE_CAST(JSON_VALUE(payload, {{ ("$." ~ answer) | literal }}) AS FLOAT64) AS {{ answer }},
{% endif %}
  JSON_VALUE(payload, '$.error') AS error
FROM {{ table | identifier }}, UNNEST(response_payload) AS payload
{% else %}
{% for feature in features %}
{% set path = ("$." ~ feature.column) | literal %}
{% if feature.kind == "sequence" %}
  ARRAY(
    SELECT SAFE_CAST(element AS FLOAT64) FROM UNNEST(JSON_VALUE_ARRAY(payload, {{ path }})) AS element
  ) AS {{ feature.column | identifier }},
{% elif feature.kind == "boolean" %}
  SAFE_CAST(JSON_VALUE(payload, {{ path }}) AS BOOL) AS {{ feature.column | identifier }},
{% elif feature.kind in ("categorical", "text", "timestamp") %}
  JSON_VALUE(payload, {{ path }}) AS {{ feature.column | identifier }},
{% else %}
  SAFE_CAST(JSON_VALUE(payload, {{ path }}) AS FLOAT64) AS {{ feature.column | identifier }},
{% endif %}
{% endfor %}
  CONCAT(CAST(request_id AS STRING), ' ', CAST(place AS STRING)) AS key
FROM {{ table | identifier }}, UNNEST(request_payload) AS payload WITH OFFSET AS place
{% endif %}
WHERE logging_time >= TIMESTAMP {{ since | literal }}
  AND logging_time < TIMESTAMP {{ until | literal }}
  AND deployed_model_id IN ({{ deployed | map("literal") | join(", ") }})
