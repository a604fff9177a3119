-- The table's partitions in a span of time: their rows, and when each was last changed.
SELECT
  partition_id,
  total_rows,
  last_modified_time
FROM {{ (dataset ~ ".INFORMATION_SCHEMA.PARTITIONS") | identifier }}
WHERE table_name = {{ table | literal }}
  AND partition_id NOT IN ('__NULL__', '__UNPARTITIONED__')
ORDER BY partition_id
