{# What AutoML's model has answered for frozen rows, as JSON in the form of our server's answers. #}
SELECT
  key,
{% if answer == "value" %}
  TO_JSON_STRING(STRUCT(predicted_label.value AS value)) AS prediction
{% else %}
  CONCAT(
    '{"label":',
    -- The most probable class, as the comparison has scored it.
    (SELECT TO_JSON_STRING(class) FROM UNNEST(predicted_label.classes) AS class WITH OFFSET AS place ORDER BY predicted_label.scores[OFFSET(place)] DESC LIMIT 1),
    ',"probabilities":{',
    (SELECT STRING_AGG(CONCAT(TO_JSON_STRING(class), ':', TO_JSON_STRING(predicted_label.scores[OFFSET(place)])), ',') FROM UNNEST(predicted_label.classes) AS class WITH OFFSET AS place),
    '}}'
  ) AS prediction
{% endif %}
FROM {{ predictions | identifier }}
