"""Prices of the shipped table, so that a new price breaks no test."""

import json

from trellis.workflow.pricing import machines, services

DISK = 100 * services.table().training_disk_gb
"""An hour of the disk that every machine of a Vertex AI job has, in US dollars."""


def hourly(what, use="training"):
    """US dollars an hour of a machine type or an accelerator. use: training or serving."""
    price = json.loads(machines.TABLE.read_text())["prices"]["us-central1"][what]
    return price.get(f"{use}_usd", price["training_usd"])
