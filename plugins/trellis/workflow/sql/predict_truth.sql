{# Predictions with the labels that have arrived since: how many there are of each run, or their rows; with `export`, as files. #}
{% if export %}
EXPORT DATA OPTIONS (uri = {{ export | literal }}, format = 'PARQUET', overwrite = TRUE) AS
{% endif %}
WITH labelled AS (
  SELECT
    CAST({{ key | identifier }} AS STRING) AS key,
    CAST({{ label | identifier }} AS {{ label_type }}) AS label,
    {{ "CAST(" ~ (unit | identifier) ~ " AS STRING)" if unit else "CAST(NULL AS STRING)" }} AS unit
  FROM (
    {{ query }}
  )
),
predicted AS (
{% for one in predictions %}
  SELECT
    {{ one.folder | literal }} AS run,
    {{ one.trained | literal }} AS trained,
    key,
    prediction
  FROM {{ one.output | identifier }}
  WHERE prediction IS NOT NULL
{% if not loop.last %}
  UNION ALL
{% endif %}
{% endfor %}
)
{% if count %}
SELECT run, COUNT(*) AS examples
{% else %}
SELECT run, trained, key, label, prediction, unit
{% endif %}
FROM predicted
JOIN labelled USING (key)
WHERE label IS NOT NULL
{% if count %}
GROUP BY run
{% endif %}
