"""A key's split in SQL is its split in Python: 10,000 keys, unicode and long ones among them.

The snapshot's SQL decides which rows BigQuery ML and AutoML train on; the trainer decides the same
from the keys alone (trainer/exporting/splits.py, which needs nothing of the job image).
"""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
from google.cloud import bigquery

from trainer.exporting import splits

# Code points of one to four bytes in UTF-8, and all that SQL or JSON might change on the way.
ALPHABETS = (
    "0123456789",
    "abcXYZ_-/. ",
    "éßøñ€猫ключ",
    "😀🧬\U0001d4b3",
    "\u0000\t\n\r\\'\"`%\ufeff\u2028é",
)

QUERY = """
SELECT key, FARM_FINGERPRINT(key), ABS(MOD(FARM_FINGERPRINT(key), 100))
FROM `{table}`
ORDER BY place
"""


def random_keys(count):
    generator = random.Random(20240103)
    for number in range(count):
        # FarmHash treats lengths up to 16, 32 and 64 bytes, and all longer ones, differently.
        length = generator.choice((1, 4, 12, 16, 17, 32, 33, 64, 65, 100))
        if number % 1000 == 0:
            length = 20_000
        alphabet = generator.choice(ALPHABETS)
        yield "".join(generator.choices(alphabet, k=length))


def test_sql_and_python_agree_on_ten_thousand_keys(client, dataset, run):
    keys = ["", *random_keys(10_000)]
    table = f"{client.project}.{dataset}.samples"
    file = io.BytesIO()
    pq.write_table(pa.table({"place": range(len(keys)), "key": keys}), file)
    parquet = bigquery.LoadJobConfig(source_format="PARQUET")
    client.load_table_from_file(file, table, rewind=True, job_config=parquet).result()
    rows = run(QUERY.format(table=table))
    assert [key for key, _, _ in rows] == keys
    assert [fingerprint for _, fingerprint, _ in rows] == splits.fingerprints(keys).tolist()
    assert [bucket for _, _, bucket in rows] == splits.buckets(keys).tolist()
    assert len({bucket for _, _, bucket in rows}) == splits.BUCKETS
