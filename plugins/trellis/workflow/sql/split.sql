{% from "macros.sql" import split_of %}
-- The split of each key, by the same rule as a snapshot's.
SELECT
  key,
  {{ split_of("key", split, "training") }} AS ml_use
FROM UNNEST(@keys) AS key
