-- The split of each key, by the same rule as a snapshot's.
SELECT
  key,
  CASE
    WHEN ABS(MOD(FARM_FINGERPRINT(key), 100)) < {{ split.train }} THEN 'training'
    WHEN ABS(MOD(FARM_FINGERPRINT(key), 100)) < {{ split.train + split.validation }} THEN 'validation'
    ELSE 'test'
  END AS ml_use
FROM UNNEST(@keys) AS key
