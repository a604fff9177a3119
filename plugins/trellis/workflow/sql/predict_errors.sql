-- How many instances have no prediction, and the first of them.
SELECT
  COUNTIF(error IS NOT NULL) AS failed,
  ARRAY(
    SELECT AS STRUCT key, error
    FROM {{ table | identifier }}
    WHERE error IS NOT NULL
    ORDER BY key
    LIMIT {{ most }}
  ) AS first
FROM {{ table | identifier }}
