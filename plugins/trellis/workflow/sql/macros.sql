{# What several statements say alike. #}

{# The split of a key, or of a group: a pure function of it, the same as in Python (trainer/exporting/splits.py). #}
{% macro split_of(value, split, train) %}
CASE
    WHEN ABS(MOD(FARM_FINGERPRINT({{ value }}), 100)) < {{ split.train }} THEN {{ train | literal }}
    WHEN ABS(MOD(FARM_FINGERPRINT({{ value }}), 100)) < {{ split.train + split.validation }} THEN 'validation'
    ELSE 'test'
  END
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
