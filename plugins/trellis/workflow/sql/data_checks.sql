{# A feature as a number; NULL of a category. #}
{% macro as_number(feature) %}
{% set column = feature.clean %}
{% if feature.kind == "categorical" %}
CAST(NULL AS FLOAT64)
{%- elif feature.kind == "boolean" %}
CAST(CAST({{ column }} AS INT64) AS FLOAT64)
{%- elif feature.kind == "timestamp" %}
CAST(UNIX_SECONDS({{ column }}) AS FLOAT64)
{%- else %}
CAST({{ column }} AS FLOAT64)
{%- endif %}
{% endmacro %}
{# Columns of one type as an array: a query has 1 MiB at most, so of thousands of features little is written each. #}
{% macro listed(features) -%}
[{% for feature in features %}{{ feature.column | identifier }}{{ ", " if not loop.last }}{% endfor %}]
{%- endmacro %}
{# How well each feature alone predicts the label, and how it is spread: CTEs, the last `features_alone`. #}
{% macro features_alone(snapshot, features, regression, bad_label, cells) %}
{% set others = features | rejectattr("floats") | list %}
{% set floats = features | selectattr("floats") | list %}
{% set of_row = "split, CAST(label AS STRING) AS label, " ~ ("label" if regression else "CAST(NULL AS FLOAT64)") ~ " AS target" %}
-- The arrays are made before they are unnested, and of few columns: others may be called as they are.
cells AS (
{% if others %}
  SELECT {{ of_row }}, cell.*
  FROM (
    SELECT
      key,
      split,
      label,
      [
{% for feature in others %}
        STRUCT(
          {{ loop.index0 }} AS feature,
          CAST({{ feature.clean }} AS STRING) AS value,
          {{ as_number(feature) }} AS number
        ){{ "," if not loop.last }}
{% endfor %}
      ] AS cells
    FROM {{ snapshot | identifier }}
  ), UNNEST(cells) AS cell
  WHERE cell.value IS NOT NULL AND {{ sampled(snapshot, features, bad_label, cells) | trim }}
{{ "  UNION ALL" if floats }}
{% endif %}
{% if floats %}
  SELECT {{ of_row }}, {{ others | length }} + place AS feature, CAST(number AS STRING) AS value, number
  FROM (SELECT key, split, label, {{ listed(floats) }} AS numbers FROM {{ snapshot | identifier }}), UNNEST(numbers) AS number WITH OFFSET AS place
  WHERE number IS NOT NULL AND NOT IS_NAN(number) AND {{ sampled(snapshot, features, bad_label, cells) | trim }}
{% endif %}
),
-- A table of one feature: a value's most frequent label in the train split, looked up for the other rows.
by_label AS (
  SELECT feature, value, label, COUNTIF(split = 'train') AS learned, COUNTIF(split != 'train') AS held_out
  FROM cells
  GROUP BY feature, value, label
),
by_value AS (
  SELECT
    feature,
    value,
    SUM(learned) AS learned,
    SUM(held_out) AS held_out,
    SUM(IF(place = 1, held_out, 0)) AS recognized
  FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY feature, value ORDER BY learned DESC, label) AS place
    FROM by_label
  )
  GROUP BY feature, value
),
looked_up AS (
  SELECT
    feature,
    COUNT(*) AS distinct_values,
    SUM(learned + held_out) AS examples,
    MAX(learned + held_out) AS most,
    SUM(held_out) AS held_out,
    SUM(IF(learned > 0, held_out, 0)) AS known,
    SUM(IF(learned > 0, recognized, 0)) AS recognized
  FROM by_value
  GROUP BY feature
),
-- Area under the ROC curve of a number alone, for each class against the rest, by mid-ranks.
ranked AS (
  SELECT
    feature,
    label,
    (RANK() OVER (PARTITION BY feature ORDER BY number) - RANK() OVER (PARTITION BY feature ORDER BY number DESC)) / 2 AS place,
    COUNT(*) OVER (PARTITION BY feature) AS numbers
  FROM cells
  WHERE number IS NOT NULL{{ " AND FALSE" if regression }}
),
by_class AS (
  SELECT feature, label, COUNT(*) AS members, AVG(place) AS place, MAX(numbers) AS numbers
  FROM ranked
  GROUP BY feature, label
),
separated AS (
  SELECT feature, COUNT(*) AS classes, MAX(ABS(place / (numbers - members))) + 0.5 AS auc
  FROM by_class
  WHERE members < numbers
  GROUP BY feature
),
moved AS (
  SELECT
    feature,
    AVG(IF(split = 'train', number, NULL)) AS train_mean,
    AVG(IF(split = 'test', number, NULL)) AS test_mean,
    STDDEV_POP(IF(split = 'train', number, NULL)) AS train_stddev,
    CORR(number, target) AS correlation,
    LOGICAL_AND(number = FLOOR(number)) AS whole
  FROM cells
  WHERE number IS NOT NULL AND NOT IS_INF(number)
  GROUP BY feature
),
-- In the order of a feature whose values hardly repeat: the label of the next lower row of train,
-- looked up for the other rows. Of text without padding, s2 comes before s10.
ordered AS (
  SELECT
    feature,
    split,
    label,
    target,
    LAST_VALUE(IF(split = 'train', label, NULL) IGNORE NULLS) OVER before AS label_before,
    LAST_VALUE(IF(split = 'train', target, NULL) IGNORE NULLS) OVER before AS target_before
  FROM cells
  WHERE feature IN (SELECT feature FROM looked_up WHERE distinct_values >= 0.95 * examples)
  WINDOW before AS (
    PARTITION BY feature
    ORDER BY number, REGEXP_REPLACE(value, r'[0-9]+', ''), LENGTH(value), value
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  )
),
by_order AS (
  SELECT
    feature,
    COUNT(*) AS neighbours,
    COUNTIF(label = label_before) AS neighbours_equal,
    CORR(target, target_before) AS neighbours_correlation
  FROM ordered
  WHERE split != 'train' AND label_before IS NOT NULL
  GROUP BY feature
),
features_alone AS (
  SELECT
    [
{% for feature in others + floats %}
      {{ features.index(feature) }}{{ "," if not loop.last }}
{% endfor %}
    ][OFFSET(feature)] AS feature,
    distinct_values, examples, most, held_out, known, recognized, classes, auc, train_mean, test_mean, train_stddev,
    correlation, whole, neighbours, neighbours_equal, neighbours_correlation
  FROM looked_up
  LEFT JOIN separated USING (feature)
  LEFT JOIN moved USING (feature)
  LEFT JOIN by_order USING (feature)
),
-- Rows of the other splits that equal a row of the train split in all features.
copies AS (
  SELECT COUNTIF(split = 'train') AS learned, COUNTIF(split != 'train') AS held_out
  FROM {{ snapshot | identifier }}
  GROUP BY FARM_FINGERPRINT(TO_JSON_STRING(STRUCT(
{% for feature in others %}
    {{ feature.column | identifier }},
{% endfor %}
    {{ listed(floats) if floats else "NULL" }} AS numbers
  )))
)
{%- endmacro %}
{# Of a large table a sample, the same one always: about so many values. #}
{% macro sampled(snapshot, features, bad_label, cells) %}
split IS NOT NULL AND NOT ({{ bad_label }})
    AND ABS(MOD(FARM_FINGERPRINT(key), 1000000)) * {{ features | length }}
      < {{ cells }} * 1000000 / GREATEST((SELECT COUNT(*) FROM {{ snapshot | identifier }}), 1)
{% endmacro %}
{# How numbers go together, in the train split: CTEs, the last `together`, one row. #}
{% macro numbers_together(snapshot, numbers, bad_label, cells) %}
numbers AS (
  SELECT
    label,
{% for feature in numbers %}
    {{ as_number(feature) }} AS number_{{ loop.index0 }}{{ "," if not loop.last }}
{% endfor %}
  FROM {{ snapshot | identifier }}
  WHERE split = 'train' AND NOT ({{ bad_label }})
    AND ABS(MOD(FARM_FINGERPRINT(key), 1000000)) * {{ numbers | length }}
      < {{ cells }} * 1000000 / GREATEST((SELECT COUNT(*) FROM {{ snapshot | identifier }}), 1)
),
-- Of a feature that is often missing, a constant: its NULLs would leave no row complete.
often AS (
  SELECT
{% for feature in numbers %}
    COUNTIF(number_{{ loop.index0 }} IS NULL) > COUNT(*) / 10 AS missing_{{ loop.index0 }}{{ "," if not loop.last }}
{% endfor %}
  FROM numbers
),
complete AS (
  SELECT
    label,
{% for feature in numbers %}
    IF(missing_{{ loop.index0 }}, 0, number_{{ loop.index0 }}) AS number_{{ loop.index0 }}{{ "," if not loop.last }}
{% endfor %}
  FROM numbers
  CROSS JOIN often
),
-- The correlations of the label with each number, then of each number with those after it.
together AS (
  SELECT
    COUNT(*) AS examples,
    [
{% for feature in numbers %}
      IFNULL(CORR(label, number_{{ loop.index0 }}), 0){{ "," if not loop.last }}
{% endfor %}
    ] AS with_label,
    [
{% for first in range(numbers | length - 1) %}
{% for second in range(first + 1, numbers | length) %}
      IFNULL(CORR(number_{{ first }}, number_{{ second }}), 0){{ "," if not (loop.last and first == numbers | length - 2) }}
{% endfor %}
{% endfor %}
    ] AS among_numbers
  FROM complete
  WHERE {% for feature in numbers %}number_{{ loop.index0 }} IS NOT NULL{{ " AND " if not loop.last }}{% endfor %}

)
{%- endmacro %}
