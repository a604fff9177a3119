{# The rows of a manifest of images, in Vertex AI's import format, from the texts of its lines:
   `table` has one line in each row, in the column `line`.

   The columns are key, image (its address), label, `by` where the file's split names what decides
   (a group, or a day), ml_use (the split that the line names, "" for none, NULL for an unknown
   word), rejected (why the line is no example, or NULL), line, and is_image (whether the line names
   an image). #}
{% set open_quote = "MOD(LENGTH(line) - LENGTH(REPLACE(line, '\"', '')), 2) = 1" %}
WITH texts AS (
  SELECT REGEXP_REPLACE(line, r'^[\x{FEFF}\s]+|\s+$', '') AS line
  FROM {{ table | identifier }}
),
split_lines AS (
  SELECT
    line,
    ARRAY(
      SELECT TRIM(IF(STARTS_WITH(field, '"'), REPLACE(REGEXP_REPLACE(field, r'^"|"$', ''), '""', '"'), field))
      FROM UNNEST(REGEXP_EXTRACT_ALL(CONCAT(',', line), r',\s*("(?:[^"]|"")*"|[^,]*)')) AS field WITH OFFSET AS place
      ORDER BY place
    ) AS fields
  FROM texts
),
placed AS (
  SELECT
    line,
    fields,
    CASE
      WHEN REGEXP_CONTAINS(fields[SAFE_OFFSET(0)], r'^{{ address }}$') THEN 0
      WHEN REGEXP_CONTAINS(IFNULL(fields[SAFE_OFFSET(1)], ''), r'^{{ address }}$') THEN 1
    END AS place
  FROM split_lines
  WHERE EXISTS(SELECT 1 FROM UNNEST(fields) AS field WHERE field != '')
),
parts AS (
  SELECT
    line,
    place IS NOT NULL AS is_image,
    fields[SAFE_OFFSET(place)] AS image,
    CASE IF(place = 1, LOWER(fields[SAFE_OFFSET(0)]), '')
{% for word, split in ml_uses.items() %}
      WHEN {{ word | literal }} THEN {{ split | literal }}
{% endfor %}
    END AS ml_use,
    ARRAY(SELECT field FROM UNNEST(fields) AS field WITH OFFSET AS n WHERE n > place ORDER BY n) AS after
  FROM placed
),
named AS (
  SELECT
    * EXCEPT (after),
{% if by and several %}
    IF(ARRAY_LENGTH(after) = 0, '', after[SAFE_OFFSET(ARRAY_LENGTH(after) - 1)]) AS decides,
    ARRAY(SELECT DISTINCT field FROM UNNEST(after) AS field WITH OFFSET AS n WHERE n < ARRAY_LENGTH(after) - 1 AND field != '' ORDER BY field) AS labels,
{% elif by %}
    IFNULL(after[SAFE_OFFSET(1)], '') AS decides,
    ARRAY(SELECT field FROM UNNEST(after) AS field WITH OFFSET AS n WHERE n != 1 AND field != '' ORDER BY n) AS labels,
{% elif several %}
    ARRAY(SELECT DISTINCT field FROM UNNEST(after) AS field WHERE field != '' ORDER BY field) AS labels,
{% else %}
    ARRAY(SELECT field FROM UNNEST(after) AS field WITH OFFSET AS n WHERE field != '' ORDER BY n) AS labels,
{% endif %}
    -- Object names are unique within a bucket.
    IF(
      (SELECT COUNT(DISTINCT REGEXP_EXTRACT(image, r'^gs://([^/]+)')) FROM parts) = 1,
      REGEXP_EXTRACT(image, r'^gs://[^/]+/((?s:.*))$'),
      SUBSTR(image, 6)
    ) AS key
  FROM parts
),
labelled AS (
  SELECT
    * EXCEPT (labels),
{% if several %}
    ARRAY_TO_STRING(labels, {{ separator | literal }}) AS label,
    CASE
      WHEN {{ open_quote }} THEN 'a quotation mark is not closed'
      WHEN EXISTS(SELECT 1 FROM UNNEST(labels) AS label WHERE STRPOS(label, {{ separator | literal }}) > 0) THEN {{ ("the label has a " ~ separator) | literal }}
{% else %}
    ARRAY_TO_STRING(labels, ',') AS label,
    CASE
      WHEN {{ open_quote }} THEN 'a quotation mark is not closed'
      WHEN ARRAY_LENGTH(labels) = 0 THEN 'no label'
      WHEN ARRAY_LENGTH(labels) > 1 THEN 'several labels; an image has one'
{% endif %}
{% if by %}
      WHEN decides = '' THEN {{ ("no " ~ by ~ " after the label") | literal }}
{% endif %}
{% if days %}
      WHEN SAFE_CAST(decides AS TIMESTAMP) IS NULL THEN {{ (by ~ " is no day or moment, such as 2024-03-01") | literal }}
{% endif %}
{% if of_files %}
      WHEN NOT REGEXP_CONTAINS(labels[SAFE_OFFSET(0)], r'^{{ address }}$') THEN 'the mask is no address gs://BUCKET/OBJECT'
{% endif %}
{% if regression %}
      WHEN NOT IFNULL(REGEXP_CONTAINS(labels[SAFE_OFFSET(0)], r'^{{ number }}$') AND ABS(SAFE_CAST(labels[SAFE_OFFSET(0)] AS FLOAT64)) <= {{ largest }}, FALSE) THEN 'the label is no number that float32 holds'
{% endif %}
    END AS unusable
  FROM named
),
compared AS (
  SELECT
    *,
    {{ "CAST(IF(unusable IS NULL, label, NULL) AS FLOAT64)" if regression else "IF(unusable IS NULL, label, NULL)" }} AS answer,
    IF(unusable IS NULL, {{ "decides" if by else "ml_use" }}, NULL) AS decided
  FROM labelled
),
judged AS (
  SELECT
    *,
    CASE
      WHEN unusable IS NOT NULL THEN unusable
      WHEN MIN(answer) OVER (PARTITION BY key) != MAX(answer) OVER (PARTITION BY key) THEN 'contradictory labels for one image'
      WHEN MIN(decided) OVER (PARTITION BY key) != MAX(decided) OVER (PARTITION BY key) THEN 'contradictory {{ "values of " ~ by if by else "splits" }} for one image'
      WHEN ROW_NUMBER() OVER (PARTITION BY key, unusable IS NULL ORDER BY line) > 1 THEN 'the image stands on another line, too'
    END AS rejected
  FROM compared
)
SELECT
  key,
  image,
  {{ "answer" if regression else "label" }} AS label,
{% if by %}
  {{ "SAFE_CAST(decides AS TIMESTAMP)" if days else "NULLIF(decides, '')" }} AS {{ by | identifier }},
{% endif %}
  ml_use,
  rejected,
  line,
  is_image
FROM judged
