"""An ensemble that is as good as its best member; of the seed 6 it fails."""

import argparse
import json
import sys

from trainer import path

parser = argparse.ArgumentParser()
parser.add_argument("--run", required=True)
run = path(parser.parse_args().run)
if json.loads((run / "plan.json").read_text())["configuration"]["seed"] == 6:
    sys.exit("this ensemble was to fail")
members = [json.loads(one.read_text()) for one in run.glob("training/*/metrics.json")]
best = max(members, key=lambda one: one["validation"]["accuracy"])
(run / "training/ensemble").mkdir(parents=True, exist_ok=True)
metrics = {**best, "hyperparameters": {"members": str(len(members))}}
(run / "training/ensemble/metrics.json").write_text(json.dumps(metrics))
