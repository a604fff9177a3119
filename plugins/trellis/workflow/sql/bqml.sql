{% from "macros.sql" import split_of_fold %}
{% if folds %}
{% set rows = "(SELECT * EXCEPT (split), " ~ (split_of_fold(fold, folds, part) | trim) ~ " AS split FROM " ~ (snapshot | identifier) ~ ")" %}
{% else %}
{% set rows = snapshot | identifier %}
{% endif %}
-- One baseline: a model that learns from the train split, stops early by the validation
-- split, and predicts exactly the test split. Infinity is refused before, NaN counts as NULL.
CREATE OR REPLACE MODEL {{ model | identifier }}
OPTIONS (
{% if encryption_key %}
  kms_key_name = {{ encryption_key | literal }},
{% endif %}
  model_type = '{{ type | upper }}',
{% for name, value in options.items() %}
  {{ name }} = {{ value }},
{% endfor %}
{% if weighted %}
  instance_weight_col = 'example_weight',
{% endif %}
  input_label_cols = ['label'],
  data_split_method = 'CUSTOM',
  data_split_col = 'is_validation'
) AS
SELECT
{% for feature in features %}
  {{ feature.clean }} AS {{ feature.column | identifier }},
{% endfor %}
{% if weighted %}
  example_weight,
{% endif %}
  label,
  split = 'validation' AS is_validation
FROM {{ rows }}
WHERE split IN ('train', 'validation');

{% include "bqml_predict.sql" %}

EXPORT DATA OPTIONS (
  uri = {{ (folder ~ "service/evaluation-*.json") | literal }},
  format = 'JSON',
  overwrite = true
) AS
SELECT *
FROM ML.EVALUATE(
  MODEL {{ model | identifier }},
  (
    SELECT
{% for feature in features %}
      {{ feature.clean }} AS {{ feature.column | identifier }},
{% endfor %}
      label
    FROM {{ rows }}
    WHERE split = 'test'
  )
);
{% if importance %}

EXPORT DATA OPTIONS (
  uri = {{ (folder ~ "service/importance-*.json") | literal }},
  format = 'JSON',
  overwrite = true
) AS
SELECT *
{% if importance == "ML.WEIGHTS" %}
-- Of standardized features, or their weights could not be compared.
FROM ML.WEIGHTS(MODEL {{ model | identifier }}, STRUCT(TRUE AS standardize));
{% else %}
FROM {{ importance }}(MODEL {{ model | identifier }});
{% endif %}
{% endif %}
