"""Free text as numbers: the one place where words become a model's input, in training and serving.

A text becomes lower case, whatever is neither a letter nor a digit divides it into words, and each
word and each pair of neighbours gets the number of its hash, 1 .. BUCKETS. So there is no
vocabulary to keep. (The hashing trick: Weinberger et al., ICML 2009; words and pairs of words:
Joulin et al., fastText, 2016.) Two words may share a number: of 5,000 different ones about a
quarter do.
"""

import tensorflow as tf

from trellis_contracts.decoded import MAX_WORDS

BUCKETS = 1 << 14


def numbers(texts: tf.Tensor) -> tf.RaggedTensor:
    """(n,) string, UTF-8 -> (n, any) int64, of a text without a word none.

    The hash is tf.strings.to_hash_bucket_fast, which TensorFlow promises never to change.
    """
    lower = tf.strings.lower(texts, encoding="utf-8")
    spaced = tf.strings.regex_replace(lower, r"[^\pL\pN]+", " ")
    words = tf.strings.split(tf.strings.strip(spaced))[:, :MAX_WORDS]
    pairs = tf.strings.ngrams(words, 2)
    return tf.strings.to_hash_bucket_fast(tf.concat([words, pairs], 1), BUCKETS) + 1
