"""TFRecord files as TensorFlow writes them, without TensorFlow."""

import struct

import google_crc32c

from trellis_contracts.records import Example


def record(payload):
    """A payload in its frame: length and checksums."""
    length = struct.pack("<Q", len(payload))
    return length + _masked(length) + payload + _masked(payload)


def example(**features):
    """A serialized tf.train.Example. features: of each, a list of bytes, of ints or of floats."""
    message = Example()
    for name, values in features.items():
        feature = message.features.feature[name]
        kinds = {bytes: "bytes_list", int: "int64_list", float: "float_list"}
        if values:
            getattr(feature, kinds[type(values[0])]).value.extend(values)
        else:
            feature.int64_list.SetInParent()
    return message.SerializeToString()


def records(rows):
    """The content of a file. rows: features of each record, as `example` has them."""
    return b"".join(record(example(**row)) for row in rows)


def _masked(data):
    crc = google_crc32c.value(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
