-- A batch prediction's own tables as one: a row for each instance, predicted or failed.
CREATE TABLE {{ output | identifier }}
OPTIONS (
{% if encryption_key %}
  kms_key_name = {{ encryption_key | literal }},
{% endif %}
  description = {{ description | literal }},
  labels = [{{ labels }}]
) AS
SELECT
  key,
{% if regression %}
  CAST(JSON_VALUE(prediction, '$.value') AS FLOAT64) AS value,
{% else %}
  -- Of a multi-label task the classes with | between them, as in the rows that it learned from.
  IFNULL(JSON_VALUE(prediction, '$.label'), ARRAY_TO_STRING(JSON_VALUE_ARRAY(prediction, '$.labels'), '|')) AS label,
{% endif %}
  prediction,
  CAST(NULL AS STRING) AS error
FROM {{ predictions | identifier }}
{% if errors %}
UNION ALL
SELECT
  key,
  CAST(NULL AS {{ "FLOAT64" if regression else "STRING" }}),
  CAST(NULL AS STRING),
  errors.message
FROM {{ errors | identifier }}
{% endif %}
