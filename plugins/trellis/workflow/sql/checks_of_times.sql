{# What checks.sql finds of times to an event, and of the events. #}
  STRUCT(
    COUNTIF(label IS NULL) AS missing,
    COUNTIF(label < 0) AS negative,
    COUNTIF(label_event IS NULL) AS events_missing,
    COUNTIF(label_event NOT IN (0, 1)) AS events_unknown
  ) AS times,
  ARRAY(
    SELECT key
    FROM {{ rows }}
    WHERE key IS NOT NULL AND (label_event IS NULL OR label_event NOT IN (0, 1))
    ORDER BY key
    LIMIT 5
  ) AS events_bad_keys,
  ARRAY(
    SELECT AS STRUCT split, COUNTIF(label_event = 1) AS events
    FROM {{ rows }}
    WHERE split IS NOT NULL
    GROUP BY split
    ORDER BY split
  ) AS events,
