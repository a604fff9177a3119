-- A batch prediction's own tables as one: a row for each instance, predicted or failed.
CREATE TABLE {{ output | identifier }}
OPTIONS (
{% if encryption_key %}
  kms_key_name = {{ encryption_key | literal }},
{% endif %}
  description = {{ description | literal }},
  labels = [{{ labels }}]
) AS
{% if predictions %}
SELECT
  key,
{% if answer != "label" %}
  CAST(JSON_VALUE(prediction, {{ ("$." ~ answer) | literal }}) AS FLOAT64) AS {{ answer }},
{% else %}
  -- Of a multi-label task the classes with | between them, as in the rows that it learned from.
  IFNULL(JSON_VALUE(prediction, '$.label'), ARRAY_TO_STRING(JSON_VALUE_ARRAY(prediction, '$.labels'), '|')) AS label,
{% endif %}
  -- The server has answered each instance by itself: with an error, if it refuses it.
  IF(JSON_VALUE(prediction, '$.error') IS NULL, prediction, NULL) AS prediction,
  JSON_VALUE(prediction, '$.error') AS error
FROM {{ predictions | identifier }}
{% endif %}
{% if predictions and errors %}
UNION ALL
{% endif %}
{% if errors %}
SELECT
  key,
  CAST(NULL AS {{ "STRING" if answer == "label" else "FLOAT64" }}) AS {{ answer }},
  CAST(NULL AS STRING) AS prediction,
  prediction_error AS error
FROM {{ errors | identifier }}
{% endif %}
