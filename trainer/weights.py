"""Download a backbone's ImageNet weights to a file, which trainings read from the bucket.

Jobs download nothing: where data are restricted, there is no internet. Run this once for each
backbone, on a machine with internet access, and copy the file to the group's bucket.

Example:
  python -m trainer weights ResNet50
  gcloud storage cp ResNet50.weights.h5 gs://BUCKET/_weights/

The file is checked before it is kept: the features that trainer.models.backbone computes with it
must be those of Keras' own model. Exit codes: 0 written, 1 not, 2 wrong flags.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trainer import storage
from trellis_contracts import hyperparameters

_SIDE = 224

# Tolerance, as a share of the largest feature: numbers scaled in another order round differently.
_TOLERANCE = 1e-3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    names = hyperparameters.schema()["backbone"]["enum"]
    parser = argparse.ArgumentParser(
        prog="python -m trainer weights",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("backbone", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument(
        "file", nargs="?", help="default: NAME.weights.h5; its name ends with .weights.h5"
    )
    options = parser.parse_args(argv)
    file = Path(options.file or f"{options.backbone}.weights.h5")
    if not file.name.endswith(".weights.h5"):
        parser.error(f"{file}: expected a name that ends with .weights.h5")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from trainer.models import backbone

    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, file.name)
        try:
            _write(options.backbone, written)
        except Exception as error:  # Keras raises no narrower one without a connection
            print(f"no weights for {options.backbone}: {error}", file=sys.stderr)
            return 1
        storage.write_bytes(file, written.read_bytes())
    print(f"{file}: {file.stat().st_size:,} bytes. Copy it to the group's bucket:")
    print(f"gcloud storage cp {file} gs://BUCKET/_weights/{options.backbone}{backbone.SUFFIX}")
    return 0


def _write(name: str, file: Path) -> None:
    """Write ImageNet's weights for the network as trainer.models.backbone builds it.

    Raises ValueError if it computes other features with them than Keras' own model.
    """
    import keras
    import numpy as np

    from trainer.models import backbone

    own = getattr(keras.applications, name)(weights="imagenet", include_top=False, pooling="avg")
    side = own.input_shape[1] or _SIDE
    network = backbone.network(name, (side, side, 3))
    network.set_weights(own.get_weights())
    network.save_weights(file)
    # As trainings do. After set_weights alone, a Normalization layer has not taken up its numbers.
    network.load_weights(file)
    pixels = np.random.default_rng(0).uniform(0, 255, (1, side, side, 3)).astype(np.float32)
    expected = own(backbone.module(name).preprocess_input(pixels.copy())).numpy()
    difference = np.abs(network(backbone.preprocessing(name)(pixels)).numpy() - expected).max()
    if not difference <= _TOLERANCE * np.abs(expected).max():
        raise ValueError(
            f"the features differ by {difference:.3g} from those of Keras {keras.__version__}; "
            "this is a bug, report it"
        )


if __name__ == "__main__":
    sys.exit(main())
