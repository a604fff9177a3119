-- Rows in a span of time, and which times there are.
SELECT
  COUNTIF(moment >= {{ partition.start_literal }} AND moment < {{ partition.end_literal }}) AS examples,
  CAST(MIN(moment) AS STRING) AS first_moment,
  CAST(MAX(moment) AS STRING) AS last_moment
FROM (
  SELECT {{ partition.column | identifier }} AS moment
  FROM {{ source }}
)
