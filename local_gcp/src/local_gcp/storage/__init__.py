"""Cloud Storage: the JSON API over plain files, ROOT/BUCKET/OBJECT.

From the wire inwards: `app` (which URL is what), `call` (HTTP to plain functions), `bucket_api`,
`object_api`, `upload_api`, `media` (downloads) and `batch`; below them `store` (objects as files)
with its `catalog` (SQLite), `listing`, `resumable`, `preconditions` and `naming`.

Different from Google on purpose: no permissions are checked; only live generations are kept; an
object cannot have the name of another one's folder, nor empty path segments. Programs that write
into the folders themselves take no part in preconditions.
"""
