{# Predictions with the labels that have arrived since: how many there are of each run, or their rows; with `export`, as files. Those of rows that the model learned from do not count. #}
{% if export %}
EXPORT DATA OPTIONS (uri = {{ export | literal }}, format = 'PARQUET', overwrite = TRUE) AS
{% endif %}
WITH labelled AS (
  SELECT
    CAST({{ key | identifier }} AS STRING) AS key,
    CAST({{ label | identifier }} AS {{ label_type }}) AS label,
{% for column in beside %}
    CAST({{ column.name | identifier }} AS {{ types[column.column] }}) AS {{ column.column }},
{% endfor %}
    {{ "CAST(" ~ (unit | identifier) ~ " AS STRING)" if unit else "CAST(NULL AS STRING)" }} AS unit
  FROM (
    {{ query }}
  )
),
predicted AS (
{% for one in predictions %}
  SELECT
    *,
    {{ "key IN (" ~ learned[one.folder] ~ ")" if one.folder in learned else "FALSE" }} AS learned
  FROM (
  SELECT
    {{ one.folder | literal }} AS run,
    {{ one.trained | literal }} AS trained,
{% if of_images %}
    -- The instance of our server, or of AutoML.
    COALESCE(JSON_VALUE(line, {{ ("$.instance." ~ key) | literal }}), JSON_VALUE(line, '$.instance.content')) AS key,
    CASE
      WHEN JSON_VALUE(line, '$.prediction.error') IS NOT NULL THEN NULL
      WHEN JSON_QUERY(line, '$.prediction.displayNames') IS NULL THEN JSON_QUERY(line, '$.prediction')
      ELSE CONCAT(
        '{"probabilities":{',
        (
          SELECT STRING_AGG(CONCAT(TO_JSON_STRING(name), ':', JSON_VALUE_ARRAY(line, '$.prediction.confidences')[OFFSET(place)]), ',')
          FROM UNNEST(JSON_VALUE_ARRAY(line, '$.prediction.displayNames')) AS name WITH OFFSET AS place
        ),
        '}}'
      )
    END AS prediction
{% else %}
    key,
    prediction
{% endif %}
  FROM {{ one.output | identifier }}
  )
{% if not loop.last %}
  UNION ALL
{% endif %}
{% endfor %}
)
{% if count %}
SELECT run, COUNTIF(NOT learned) AS examples, COUNTIF(learned) AS learned
{% else %}
SELECT run, trained, key, label, {% for column in beside %}{{ column.column }}, {% endfor %}prediction, unit
{% endif %}
FROM predicted
JOIN labelled USING (key)
WHERE prediction IS NOT NULL AND label IS NOT NULL{% for column in beside %} AND {{ column.column }} IS NOT NULL{% endfor %}

{% if count %}
GROUP BY run
{% else %}
AND NOT learned
{% endif %}
