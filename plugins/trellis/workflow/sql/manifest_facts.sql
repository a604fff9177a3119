-- What a manifest's lines are, in one row.
WITH manifest AS (
  {{ rows }}
)
SELECT
  COUNT(*) AS lines,
  COUNTIF(rejected IS NULL) AS examples,
  COUNTIF(NOT is_image) AS without_image,
  ARRAY(SELECT line FROM manifest WHERE NOT is_image ORDER BY line LIMIT {{ shown }}) AS lines_without_image,
  COUNTIF(ml_use IS NULL) AS unknown_uses,
  ARRAY(SELECT line FROM manifest WHERE ml_use IS NULL ORDER BY line LIMIT {{ shown }}) AS lines_of_unknown_uses,
  COUNTIF(ml_use != '') AS named,
  MIN(IF(ml_use != '', line, NULL)) AS a_named_line,
  MIN(IF(ml_use = '', line, NULL)) AS a_silent_line,
  COUNTIF(STRPOS(line, '\ufffd') > 0) AS not_utf8,
  MIN(IF(STRPOS(line, '\ufffd') > 0, line, NULL)) AS a_line_not_in_utf8,
{% if by %}
  COUNT(DISTINCT {{ by | identifier }}) AS groups_,
{% endif %}
  ARRAY(
    SELECT AS STRUCT rejected AS reason, COUNT(*) AS lines, MIN(line) AS line
    FROM manifest
    WHERE rejected IS NOT NULL
    GROUP BY rejected
    ORDER BY COUNT(*) DESC, rejected
  ) AS rejected{{ "," if names }}
{% if names %}
  ARRAY(
    SELECT AS STRUCT label, COUNT(*) AS examples
    FROM manifest
    WHERE rejected IS NULL
    GROUP BY label
    ORDER BY COUNT(*) DESC, label
    LIMIT {{ most_labels }}
  ) AS labels
{% endif %}
FROM manifest
