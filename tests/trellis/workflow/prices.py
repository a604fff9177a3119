"""Prices of the shipped table, so that a new price breaks no test."""

import json

from trellis.workflow.pricing import machines


def hourly(what, use="training"):
    """US dollars an hour of a machine type or an accelerator. use: training or serving."""
    price = json.loads(machines.TABLE.read_text())["prices"]["us-central1"][what]
    return price.get(f"{use}_usd", price["training_usd"])
