-- The images of a snapshot whose rows have one each: those of rows that may be examples.
SELECT split, {{ image | identifier }} AS image, label
FROM {{ snapshot | identifier }}
{% if rejected %}WHERE {{ rejected | identifier }} IS NULL
{% endif %}GROUP BY split, image, label
ORDER BY MIN(key)
