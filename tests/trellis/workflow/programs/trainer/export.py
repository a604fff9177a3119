"""An export of nothing: the commit mark, a description of images of 8 x 8."""

import argparse
import shutil
from pathlib import Path

from trainer import path

parser = argparse.ArgumentParser()
parser.add_argument("--output", required=True)
folder = path(parser.parse_known_args()[0].output)
folder.mkdir(parents=True, exist_ok=True)
shutil.copy(Path(__file__).with_name("dataset.json"), folder / "dataset.json")
