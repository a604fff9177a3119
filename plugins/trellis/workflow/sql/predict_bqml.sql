{# What a BigQuery ML model predicts for frozen rows, as JSON in the form of our server's answers. #}
SELECT
  key,
{% if answer == "value" %}
  TO_JSON_STRING(STRUCT(predicted_label AS value)) AS prediction
{% else %}
  CONCAT(
    '{"label":',
    -- The most probable class, as the comparison has scored it, whatever the service's threshold.
    (SELECT TO_JSON_STRING(CAST(one.label AS STRING)) FROM UNNEST(predicted_label_probs) AS one ORDER BY one.prob DESC LIMIT 1),
    ',"probabilities":{',
    (SELECT STRING_AGG(CONCAT(TO_JSON_STRING(CAST(one.label AS STRING)), ':', TO_JSON_STRING(one.prob)), ',') FROM UNNEST(predicted_label_probs) AS one),
    '}}'
  ) AS prediction
{% endif %}
FROM ML.PREDICT(MODEL {{ bqml | identifier }}, (SELECT * FROM {{ snapshot | identifier }}))
