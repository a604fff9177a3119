"""Nearest neighbours, in the program of programs/nearest: this file declares what it reads."""

INPUTS = ["table"]
HYPERPARAMETERS = {
    "neighbours": {"default": 15, "minimum": 1, "maximum": 200, "description": "rows that vote"},
    "power": {
        "default": 1.0,
        "minimum": 0.0,
        "maximum": 4.0,
        "description": "a vote counts by the distance to minus this",
    },
}
