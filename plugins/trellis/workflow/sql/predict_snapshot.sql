-- The rows to predict, frozen until the predictions are out of date.
CREATE TABLE {{ table | identifier }}
OPTIONS (
{% if encryption_key %}
  kms_key_name = {{ encryption_key | literal }},
{% endif %}
  description = {{ description | literal }},
  labels = [{{ labels }}],
  expiration_timestamp = TIMESTAMP {{ expires | literal }}
) AS
{{ rows }}
