"""TensorFlow's own gs:// file system: libcurl, through the proxy. Argument: a bucket."""

import os
import sys

import tensorflow as tf

files = tf.io.gfile
base = f"gs://{sys.argv[1]}"

files.makedirs(f"{base}/run/logs")
with files.GFile(f"{base}/run/logs/a.txt", "w") as file:
    file.write("héllo")
with files.GFile(f"{base}/run/logs/a.txt", "a") as file:
    file.write(" more")
assert files.GFile(f"{base}/run/logs/a.txt").read() == "héllo more"
assert files.stat(f"{base}/run/logs/a.txt").length == 11
assert files.isdir(f"{base}/run")
assert files.listdir(f"{base}/run") == ["logs/"]
assert files.glob(f"{base}/run/*/*.txt") == [f"{base}/run/logs/a.txt"]
assert not files.exists(f"{base}/nothing")

data = os.urandom(5 << 20)
with files.GFile(f"{base}/big", "wb") as file:
    file.write(data)
files.copy(f"{base}/big", f"{base}/big2")
files.rename(f"{base}/big2", f"{base}/x/big3")
assert files.GFile(f"{base}/x/big3", "rb").read() == data

with tf.io.TFRecordWriter(f"{base}/r.tfrecord") as writer:
    for _ in range(10):
        writer.write(b"a" * 100)
assert len(list(tf.data.TFRecordDataset(f"{base}/r.tfrecord"))) == 10

summaries = tf.summary.create_file_writer(f"{base}/tensorboard")
with summaries.as_default():
    for step in range(3):
        tf.summary.scalar("loss", step, step)
        summaries.flush()  # appends to an object

variable = tf.Variable(tf.random.normal([100, 100]))
checkpoint = tf.train.Checkpoint(v=variable)
manager = tf.train.CheckpointManager(checkpoint, f"{base}/checkpoints", max_to_keep=2)
for _ in range(3):
    manager.save()
assert manager.latest_checkpoint == f"{base}/checkpoints/ckpt-3"
checkpoint.restore(manager.latest_checkpoint).assert_consumed()

module = tf.Module()
module.v = variable
tf.saved_model.save(module, f"{base}/model")
assert tf.saved_model.load(f"{base}/model").v.shape == (100, 100)

files.rmtree(f"{base}/run")
assert not files.exists(f"{base}/run")
