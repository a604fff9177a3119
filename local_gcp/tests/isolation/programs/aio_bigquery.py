"""A table of BigQuery through gcloud-aio, which ignores the proxy unless local_gcp's hook is there.

Prints the error and those behind it.
"""

import asyncio
import traceback

import aiohttp
from gcloud.aio.bigquery import Table


async def ask():
    async with aiohttp.ClientSession() as session:
        await Table("dataset", "table", project="local-gcp", session=session).get()


try:
    asyncio.run(ask())
except Exception:
    print(traceback.format_exc())
