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

-- A batch prediction carries columns that the model does not know, the key, into its output.
CREATE OR REPLACE TABLE {{ test | identifier }}
{% if encryption_key %}
OPTIONS (kms_key_name = {{ encryption_key | literal }})
{% endif %}
AS
SELECT
  key,
{% for feature in features %}
  {{ feature.clean }} AS {{ feature.column | identifier }}{{ "," if not loop.last }}
{% endfor %}
FROM {{ snapshot | identifier }}
WHERE split = 'test';
