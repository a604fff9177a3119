-- What AutoML sees of the snapshot: its own names for the splits, and no key to learn from.
CREATE OR REPLACE VIEW {{ training | identifier }} AS
SELECT
  CASE split WHEN 'train' THEN 'training' ELSE split END AS ml_use,
{% for feature in features %}
  {{ feature.clean }} AS {{ feature.column | identifier }},
{% endfor %}
{% if weight %}
  example_weight,
{% endif %}
  label
FROM {{ snapshot | identifier }};

{% include "automl_test.sql" %}
