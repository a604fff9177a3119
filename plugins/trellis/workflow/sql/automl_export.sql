-- A batch prediction's output table in the form of every other contender's predictions.
EXPORT DATA OPTIONS (
  uri = {{ (folder ~ "raw/predictions-*.parquet") | literal }},
  format = 'PARQUET',
  overwrite = true
) AS
SELECT
  key,
{% if regression %}
  predicted_label.value AS prediction
{% else %}
  ARRAY(
    SELECT AS STRUCT class AS label, predicted_label.scores[OFFSET(position)] AS prob
    FROM UNNEST(predicted_label.classes) AS class WITH OFFSET AS position
  ) AS probabilities
{% endif %}
FROM {{ output | identifier }};
