{% from "data_checks.sql" import features_alone, listed, numbers_together %}
{# Of a manifest, lines that are no examples are left out. #}
{% set rows = "(SELECT * FROM " ~ (snapshot | identifier) ~ " WHERE rejected IS NULL)" if rejected else snapshot | identifier %}
-- What would make a training pointless or wrong, found on the snapshot in one row.
{% if alone %}
WITH {{ features_alone(snapshot, alone, regression, bad_label, cells) }}
{%- if numbers %}
,
{{ numbers_together(snapshot, numbers, bad_label, cells) }}
{% endif %}
{% endif %}
SELECT
  COUNT(*) AS examples,
  COUNTIF(IFNULL(key, '') = '') AS keys_missing,
  ARRAY(
    SELECT AS STRUCT key AS value, COUNT(*) AS examples
    FROM {{ rows }}
    WHERE key IS NOT NULL
    GROUP BY key
    HAVING COUNT(*) > 1
    ORDER BY COUNT(*) DESC, key
    LIMIT 5
  ) AS keys_repeated,
  COUNTIF({{ bad_label }}) AS labels_bad,
  ARRAY(
    SELECT key
    FROM {{ rows }}
    WHERE key IS NOT NULL AND ({{ bad_label }})
    ORDER BY key
    LIMIT 5
  ) AS labels_bad_keys,
  ARRAY(
    SELECT AS STRUCT split, COUNT(*) AS examples{{ ", COUNT(DISTINCT split_by) AS units" if split_by }}
    FROM {{ rows }}
    WHERE split IS NOT NULL
    GROUP BY split
    ORDER BY split
  ) AS splits,
  ARRAY(
    SELECT AS STRUCT split, {{ "label" if names else "CAST(NULL AS STRING)" }} AS label, COUNT(*) AS examples
    FROM {{ rows }}
    WHERE label IS NOT NULL
    GROUP BY split, {{ "label" if names else "2" }}
    ORDER BY split, 2
    LIMIT {{ most_labels }}
  ) AS classes,
{% if of_form %}
{% include of_form %}
{% endif %}
{% if weight %}
  STRUCT(
    COUNTIF(example_weight IS NULL) AS missing,
    COUNTIF(IS_NAN(example_weight)) AS not_a_number,
    COUNTIF({{ infinite | replace("{}", "example_weight") }}) AS infinite,
    COUNTIF(example_weight < 0) AS negative,
    MAX(example_weight) AS largest
  ) AS weights,
  ARRAY(
    SELECT key
    FROM {{ rows }}
    WHERE key IS NOT NULL AND (example_weight IS NULL OR IS_NAN(example_weight) OR {{ infinite | replace("{}", "example_weight") }} OR example_weight < 0)
    ORDER BY key
    LIMIT 5
  ) AS weights_bad_keys,
  ARRAY(
    SELECT AS STRUCT split, COUNT(*) AS examples
    FROM {{ rows }}
    WHERE split IS NOT NULL
    GROUP BY split
    -- What is no more than half of the smallest float32 becomes 0.
    HAVING COUNTIF(example_weight > 7.006492321624085e-46) = 0
    ORDER BY split
  ) AS weights_zero,
{% endif %}
{% if split_by %}
  ARRAY(
    SELECT AS STRUCT split_by AS value, COUNT(*) AS examples, MIN(key) AS key
    FROM {{ rows }}
    WHERE split IS NULL
    GROUP BY split_by
    ORDER BY COUNT(*) DESC, split_by
    LIMIT 5
  ) AS unassigned,
  ARRAY(
    SELECT AS STRUCT split, COUNT(DISTINCT split_by) AS number
    FROM {{ rows }}
    WHERE split IS NOT NULL
    GROUP BY split
    ORDER BY split
  ) AS values_by_split,
{% endif %}
{% if folds %}
  ARRAY(
    SELECT AS STRUCT {{ "label" if names else "CAST(NULL AS STRING)" }} AS label, COUNT(DISTINCT split_by) AS units
    FROM {{ rows }}
    WHERE label IS NOT NULL
    GROUP BY 1
    ORDER BY 1
    LIMIT {{ most_labels }}
  ) AS units_by_label,
{% endif %}
{% if alone %}
  ARRAY(SELECT AS STRUCT * FROM features_alone ORDER BY feature) AS features_alone,
  (SELECT AS STRUCT SUM(held_out) AS held_out, SUM(IF(learned > 0, held_out, 0)) AS copied FROM copies) AS copies,
{% endif %}
{% if numbers %}
  (SELECT AS STRUCT * FROM together) AS together,
{% endif %}
{% if slices %}
  [
{% for slice in slices %}
    COUNT(DISTINCT {{ slice }}){{ "," if not loop.last }}
{% endfor %}
  ] AS slices,
{% endif %}
{% if regression %}
  MIN(IF(split = 'train', label, NULL)) AS label_least,
  MAX(IF(split = 'train', label, NULL)) AS label_most,
{% endif %}
{% if images %}
  COUNTIF({% for feature in images %}{{ feature.no_address }}{{ " OR " if not loop.last }}{% endfor %}) AS rows_without_image,
  ARRAY(
    SELECT AS STRUCT * FROM (
{% for feature in images %}
      SELECT {{ feature.name | literal }} AS feature, key, {{ feature.column | identifier }} AS value
      FROM {{ rows }}
      WHERE {{ feature.no_address }}
{{ "      UNION ALL" if not loop.last }}
{% endfor %}
    )
    ORDER BY feature, key
    LIMIT 5
  ) AS no_addresses,
{% endif %}
{% if automl_image %}
  COUNTIF(REGEXP_CONTAINS({{ automl_image | identifier }}, {{ automl_unread | literal }})) AS unread_by_automl,
  MIN(IF(REGEXP_CONTAINS({{ automl_image | identifier }}, {{ automl_unread | literal }}), {{ automl_image | identifier }}, NULL)) AS an_image_unread_by_automl,
{% endif %}
{% set floats = features | selectattr("floats") | list %}
{% set others = features | rejectattr("floats") | list %}
  ARRAY_CONCAT(
{% if others %}
    [
{% for feature in others %}
      STRUCT(
        {{ feature.name | literal }} AS name,
        COUNTIF({{ feature.missing }}) AS missing,
        COUNTIF(split = 'train' AND NOT ({{ feature.empty }})) AS train,
        MAX(IF(split = 'train', {{ feature.length }}, NULL)) AS longest,
        COUNTIF({{ feature.not_a_number }}) AS not_a_number,
        COUNTIF({{ feature.infinite }}) AS infinite
      ){{ "," if not loop.last }}
{% endfor %}
    ]{{ "," if floats }}
{% endif %}
{% if floats %}
    ARRAY(
      SELECT AS STRUCT
        [
{% for feature in floats %}
          {{ feature.name | literal }}{{ "," if not loop.last }}
{% endfor %}
        ][OFFSET(place)] AS name,
        COUNTIF(number IS NULL OR IS_NAN(number)) AS missing,
        COUNTIF(split = 'train' AND number IS NOT NULL AND NOT IS_NAN(number)) AS train,
        CAST(NULL AS INT64) AS longest,
        COUNTIF(IS_NAN(number)) AS not_a_number,
        COUNTIF({{ infinite | replace("{}", "number") }}) AS infinite
      FROM (SELECT split, {{ listed(floats) }} AS numbers FROM {{ rows }}), UNNEST(numbers) AS number WITH OFFSET AS place
      GROUP BY place
      ORDER BY place
    )
{% endif %}
  ) AS features
FROM {{ rows }}
