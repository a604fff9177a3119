"""The images that AutoML gets are those that the export took."""

from trellis.workflow.stages.automl_images import unusable, without

IMAGES = [("train", "gs://b/1.png", "a"), ("test", "gs://b/2.png", "b")]


def test_an_image_on_two_lines_stays_and_one_that_cannot_be_read_goes():
    rejected = [
        {"uri": "gs://b/1.png", "split": "", "reason": "the image stands on another line, too"},
        {"uri": "gs://b/2.png", "split": "test", "reason": "no such object"},
    ]
    assert list(without(IMAGES, unusable(rejected))) == IMAGES[:1]
