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
