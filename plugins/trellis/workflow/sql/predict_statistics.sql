-- Statistics of rows, as dataset.json has them of the train split: one row. rows: a SELECT of them.
WITH every AS (
  {{ rows | trim }}
),
sampled AS (
  SELECT *
  FROM every
  -- Of a large table a sample, the same one always: about {{ "{:,}".format(cells) }} values.
  WHERE ABS(MOD(FARM_FINGERPRINT(IFNULL(key, '')), 1000000)) * {{ plain | length + sequences | length }}
    < {{ cells }} * 1000000 / GREATEST((SELECT COUNT(*) FROM every), 1)
),
-- A value is of a number or of a term; of sequences each element.
cells AS (
{% if plain %}
  SELECT cell.*
  FROM (
    SELECT [
{% for place, feature in plain %}
{% set column = feature.column | identifier %}
      STRUCT(
        {{ place }} AS feature,
{% if feature.kind == "categorical" %}
        CAST(NULL AS FLOAT64) AS number,
        CAST({{ column }} AS STRING) AS term
{% else %}
{% if feature.kind == "boolean" %}
        CAST(CAST({{ column }} AS INT64) AS FLOAT64) AS number,
{% elif feature.kind == "timestamp" %}
        -- Of moments only whether they are there.
        IF({{ column }} IS NULL, NULL, 0.0) AS number,
{% elif feature.kind == "text" %}
        CAST(CHAR_LENGTH({{ column }}) AS FLOAT64) AS number,
{% else %}
        CAST({{ column }} AS FLOAT64) AS number,
{% endif %}
        CAST(NULL AS STRING) AS term
{% endif %}
      ){{ "," if not loop.last }}
{% endfor %}
    ] AS cells
    FROM sampled
  ), UNNEST(cells) AS cell
{% endif %}
{% for place, feature in sequences %}
{% if plain or not loop.first %}
  UNION ALL
{% endif %}
  SELECT
    {{ place }} AS feature,
    CAST(element AS FLOAT64) AS number,
    CAST(NULL AS STRING) AS term
  FROM sampled, UNNEST({{ feature.column | identifier }}) AS element
{% endfor %}
),
numbers AS (
  SELECT
    feature,
    COUNT(number) + COUNT(term) AS present,
    COUNTIF(number IS NULL AND term IS NULL) AS missing,
    AVG(number) AS mean,
    STDDEV_POP(number) AS stddev,
    IFNULL(APPROX_QUANTILES(number, {{ quantiles - 1 }}), []) AS quantiles
  FROM cells
  GROUP BY feature
),
terms AS (
  SELECT feature, term, COUNT(*) AS frequency
  FROM cells
  WHERE term IS NOT NULL
  GROUP BY feature, term
),
frequent AS (
  SELECT *
  FROM terms
  WHERE TRUE
  QUALIFY ROW_NUMBER() OVER (PARTITION BY feature ORDER BY frequency DESC, term) <= {{ most_terms }}
)
SELECT
  (SELECT COUNT(*) FROM sampled) AS examples,
  ARRAY(SELECT AS STRUCT * FROM numbers ORDER BY feature) AS numbers,
  ARRAY(SELECT AS STRUCT * FROM frequent ORDER BY feature, frequency DESC, term) AS terms
