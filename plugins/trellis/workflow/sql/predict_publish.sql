-- What a batch prediction or a BigQuery ML model has answered: a row for each instance, predicted or failed.
CREATE TABLE {{ output | identifier }}
OPTIONS (
{% if encryption_key %}
  kms_key_name = {{ encryption_key | literal }},
{% endif %}
  description = {{ description | literal }},
  labels = [{{ labels }}]
) AS
{% if predictions or bqml %}
SELECT
  key,
{% if answer != "label" %}
  CAST(JSON_VALUE(prediction, {{ ("$." ~ answer) | literal }}) AS FLOAT64) AS {{ answer }},
{% else %}
  -- Of a multi-label task the classes with | between them, as in the rows that it learned from.
  IFNULL(JSON_VALUE(prediction, '$.label'), ARRAY_TO_STRING(JSON_VALUE_ARRAY(prediction, '$.labels'), '|')) AS label,
{% endif %}
{% if abstained %}
  CAST(JSON_VALUE(prediction, '$.abstained') AS BOOL) AS abstained,
{% endif %}
{% if conformal == "set" %}
  JSON_VALUE_ARRAY(prediction, '$.set') AS prediction_set,
{% elif conformal == "interval" %}
  CAST(JSON_VALUE(prediction, '$.interval[0]') AS FLOAT64) AS interval_low,
  CAST(JSON_VALUE(prediction, '$.interval[1]') AS FLOAT64) AS interval_high,
{% endif %}
  -- The server has answered each instance by itself: with an error, if it refuses it.
  IF(JSON_VALUE(prediction, '$.error') IS NULL, prediction, NULL) AS prediction,
  JSON_VALUE(prediction, '$.error') AS error
{% if bqml %}
FROM (
  {% include "predict_bqml.sql" %}

)
{% elif automl %}
FROM (
  {% include "predict_automl.sql" %}

)
{% else %}
FROM {{ predictions | identifier }}
{% endif %}
{% endif %}
{% if predictions and errors %}
UNION ALL
{% endif %}
{% if errors %}
SELECT
  key,
  CAST(NULL AS {{ "STRING" if answer == "label" else "FLOAT64" }}) AS {{ answer }},
{% if abstained %}
  CAST(NULL AS BOOL) AS abstained,
{% endif %}
{% if conformal == "set" %}
  CAST(NULL AS ARRAY<STRING>) AS prediction_set,
{% elif conformal == "interval" %}
  CAST(NULL AS FLOAT64) AS interval_low,
  CAST(NULL AS FLOAT64) AS interval_high,
{% endif %}
  CAST(NULL AS STRING) AS prediction,
  {{ "errors_label.message" if automl else "prediction_error" }} AS error
FROM {{ errors | identifier }}
{% endif %}
