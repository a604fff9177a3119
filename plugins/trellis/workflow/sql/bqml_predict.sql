-- What a BigQuery ML model predicts for the test split, in the form of every contender's predictions.
EXPORT DATA OPTIONS (
  uri = {{ (folder ~ "raw/predictions-*.parquet") | literal }},
  format = 'PARQUET',
  overwrite = true
) AS
SELECT
  key,
{% if regression %}
  predicted_label AS prediction
{% else %}
  predicted_label_probs AS probabilities
{% endif %}
FROM ML.PREDICT(
  MODEL {{ model | identifier }},
  (
    SELECT
      key,
{% for feature in features %}
      {{ feature.clean }} AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
    FROM {{ rows }}
    WHERE split = 'test'
  )
);
