{# What several statements say alike. #}

{# The split of a key, or of a group: a pure function of it, the same as in Python (trainer/exporting/splits.py). #}
{% macro split_of(value, split) %}
CASE
{% if value != "key" %}
    WHEN {{ value }} IS NULL THEN NULL
{% endif %}
    WHEN ABS(MOD(FARM_FINGERPRINT({{ value }}), 100)) < {{ split.train }} THEN 'train'
    WHEN ABS(MOD(FARM_FINGERPRINT({{ value }}), 100)) < {{ split.train + split.validation }} THEN 'validation'
    ELSE 'test'
  END
{%- endmacro %}

{# The split of a row's fold in a part of a cross-validation. #}
{% macro split_of_fold(column, folds, part="1-1") %}
CASE
{% for split in folds.splits(part) %}
    WHEN {{ column }} = {{ loop.index }} THEN '{{ ("train", "validation", "test")[split] }}'
{% endfor %}
  END
{%- endmacro %}

{# What decides a row's split, as text: a moment so that it sorts by time. #}
{% macro deciding(column, split) %}
{% if split.opening == ("time",) %}
FORMAT_TIMESTAMP('%Y-%m-%dT%H:%M:%E6SZ', TIMESTAMP({{ column }}))
{%- else %}
CAST({{ column }} AS STRING)
{%- endif %}
{%- endmacro %}

{# The split of a row by another rule than a hash, from split_by; NULL where the rule has none. #}
{% macro split_by_rule(split) %}
{% if split.opening == ("time",) %}
CASE
    WHEN split_by IS NULL THEN NULL
    WHEN split_by < '{{ split.validation }}' THEN 'train'
    WHEN split_by < '{{ split.test }}' THEN 'validation'
    ELSE 'test'
  END
{%- elif split.opening == ("column",) %}
CASE
{% for name, values in split.names.texts.items() %}
    WHEN split_by IN ({% for value in values %}{{ value | literal }}{{ ", " if not loop.last }}{% endfor %}) THEN '{{ name }}'
{% endfor %}
  END
{%- else %}
CASE
    WHEN split_by IS NULL THEN NULL
    WHEN stratum_place < stratum_size - stratum_test - stratum_validation THEN 'train'
    WHEN stratum_place < stratum_size - stratum_test THEN 'validation'
    ELSE 'test'
  END
{%- endif %}
{%- endmacro %}

{# The rows of a table or (query), those of the partition if there is one. #}
{% macro rows_of(source, partition) %}
SELECT *
  FROM {{ source }}
{% if partition %}
  WHERE {{ partition.column | identifier }} >= {{ partition.start_literal }}
    AND {{ partition.column | identifier }} < {{ partition.end_literal }}
{% endif %}
{%- endmacro %}

{# The features of such rows, called `source`, under the names of the dataset's columns. #}
{% macro columns_of(features) %}
{% for feature in features %}
    {{ feature.expression("source." ~ (feature.name | identifier)) }} AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
{%- endmacro %}
