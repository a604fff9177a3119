-- What a batch prediction has answered: how often each class, or statistics of the numbers.
{% if answer == "label" %}
SELECT name, COUNT(*) AS examples
FROM {{ table | identifier }}, UNNEST({{ "SPLIT(label, '|')" if several else "[label]" }}) AS name
WHERE error IS NULL AND name != ''
GROUP BY name
{% else %}
SELECT
  COUNT({{ answer }}) AS present,
  AVG({{ answer }}) AS mean,
  STDDEV_POP({{ answer }}) AS stddev,
  IFNULL(APPROX_QUANTILES({{ answer }}, {{ quantiles - 1 }}), []) AS quantiles
FROM {{ table | identifier }}
WHERE error IS NULL
{% endif %}
