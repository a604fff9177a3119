"""Cloud Storage: the JSON API over plain files, ROOT/BUCKET/OBJECT.

From the outside in: `app` (routes), `call` (HTTP to plain functions), `bucket_api`, `object_api`,
`upload_api`, `media` (downloads) and `batch`; below them `store` (objects as files) with its
`catalog` (SQLite), `listing` over `folders`, `resumable`, `preconditions` and `naming`.

Deliberate differences from Google: no permissions are checked; only live generations are kept; an
object cannot have the name of another one's folder, nor empty path segments. Preconditions do not
apply to programs that write to the folders themselves.
"""
