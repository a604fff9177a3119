"""The limits of one replica: for a request, and for all requests together.

A request beyond its own limits is refused as invalid (400, 413), one beyond the replica's should be
retried (429). Together they bound memory, to about 1 GB beside the model, and the time that an
accepted request waits, which must stay well below the 60 seconds that Vertex AI allows.
"""

# Vertex AI's own limit for dedicated and private endpoints (1.5 MB for shared public ones):
# https://cloud.google.com/vertex-ai/docs/predictions/choose-endpoint-type
MAX_BODY_BYTES = 10 << 20

# Vertex AI's batch prediction sends 64 at once by default, gcloud at most 100.
MAX_INSTANCES = 256

# One image, decoded. 33.6 megapixels: above any camera phone's default, 100 MB as RGB.
MAX_PIXELS = 1 << 25

# Total bytes of the images that a request names by address: as much as a body may hold.
MAX_FETCHED_BYTES = MAX_BODY_BYTES

# Bodies and fetched images in memory at one time.
MAX_HELD_BYTES = 256 << 20

# One call of the model. More images make no better use of a CPU; many large ones would need
# gigabytes, since all of a batch are decoded before the model sees them. Costs are in pixels.
MAX_BATCH = 64
MAX_BATCH_COST = MAX_PIXELS

# Images in one call of a model that answers with masks, in pixels of its input: of 2 images of
# 512 x 512 such a network holds about a gigabyte of numbers, and a CPU gains nothing by more.
MAX_MASK_PIXELS = 1 << 19

# The masks of one response, as PNGs in base64: as much as a request may have.
MAX_MASK_BYTES = MAX_BODY_BYTES

# Accepted and waiting for their batch: at most about 20 seconds of work for two cores, if all are
# of the slowest kind (transparent PNG: 14 megapixels a second and core; JPEG: 80 to 240).
MAX_WAITING = 1024
MAX_WAITING_COST = 1 << 29

# A client that stops in the middle of its request must not keep its share of memory.
BODY_TIMEOUT_SECONDS = 30

# Total input of the model for the explanations of one request: values of rows, or pixels of
# images, whose gradients take longer. benchmarks/explaining.py prints its CPU time. On
# two slow cores with other work: dense 15 s (30 columns) and 5 s (300), recurrent 9 s, transformer
# 18 s (sequences of 100 values), convolutional 27 s (32 x 32) and 12 s (224 x 224), vision
# transformer 14 s (32 x 32).
MAX_EXPLAINED_VALUES = 1 << 24
MAX_EXPLAINED_PIXELS = 1 << 22

# The queue holds as much as the largest request asks for: in millionths of that.
MAX_EXPLAINING_COST = 1_000_000
