-- What a model has answered: how often each class, or statistics of the numbers. rows: a SELECT of answers.
{% if answer == "label" %}
SELECT name, COUNT(*) AS examples
FROM ({{ rows | trim }}), UNNEST({{ "SPLIT(label, '|')" if several else "[label]" }}) AS name
WHERE error IS NULL AND name != ''
GROUP BY name
{% else %}
SELECT
  COUNT({{ answer }}) AS present,
  AVG({{ answer }}) AS mean,
  STDDEV_POP({{ answer }}) AS stddev,
  IFNULL(APPROX_QUANTILES({{ answer }}, {{ quantiles - 1 }}), []) AS quantiles
FROM ({{ rows | trim }})
WHERE error IS NULL
{% endif %}
