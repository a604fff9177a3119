{# What several statements say alike. #}

{# The split of a key: a pure function of it, the same as in Python (trainer/exporting/splits.py). #}
{% macro split_of(key, split, train) %}
CASE
    WHEN ABS(MOD(FARM_FINGERPRINT({{ key }}), 100)) < {{ split.train }} THEN {{ train | literal }}
    WHEN ABS(MOD(FARM_FINGERPRINT({{ key }}), 100)) < {{ split.train + split.validation }} THEN 'validation'
    ELSE 'test'
  END
{%- endmacro %}
