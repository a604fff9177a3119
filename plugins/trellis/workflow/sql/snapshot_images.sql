-- The images of a manifest's snapshot.
SELECT split, image, label
FROM {{ snapshot | identifier }}
WHERE rejected IS NULL
ORDER BY key
