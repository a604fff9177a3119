"""Aliases, whichever way Vertex AI treats one that another version has."""

import pytest
from google.api_core import exceptions
from google.cloud.aiplatform_v1.types import Model

from tests.wording import says
from trellis.vertex.registry import find_by_alias, move_aliases
from trellis.vertex.versions import parse_model

MODEL = "projects/1/locations/r/models/digits"


class Registry:
    """A model whose versions have these aliases; `refuses` those that another one has."""

    def __init__(self, aliases, refuses):
        self.aliases = {number: list(names) for number, names in aliases.items()}
        self.refuses = refuses
        self.calls = []

    def list_model_versions(self, request, **_):
        return [self._message(number) for number in self.aliases]

    def get_model(self, name, **_):
        for number, aliases in self.aliases.items():
            if name.partition("@")[2] in (number, *aliases):
                return self._message(number)
        raise exceptions.NotFound(name)

    def merge_version_aliases(self, request, **_):
        number = request["name"].partition("@")[2]
        self.calls.append((number, *request["version_aliases"]))
        for change in request["version_aliases"]:
            holders = [
                n for n, aliases in self.aliases.items() if change in aliases and n != number
            ]
            if holders and change != "default" and self.refuses:
                raise exceptions.FailedPrecondition(f"{change} is in use")
            for holder in holders:
                self.aliases[holder].remove(change)
            if change.startswith("-"):
                self.aliases[number].remove(change[1:])
            elif change not in self.aliases[number]:
                self.aliases[number].append(change)

    def _message(self, number):
        return Model(
            name=f"{MODEL}@{number}", version_id=number, version_aliases=self.aliases[number]
        )


def version(number):
    return parse_model(f"{MODEL}@{number}")


@pytest.mark.parametrize("refuses", [False, True])
def test_aliases_move_whether_taken_ones_are_refused_or_not(refuses):
    registry = Registry({"1": ["champion", "default"], "2": ["previous"], "3": []}, refuses)
    move_aliases(registry, version("1"), ["previous"])
    move_aliases(registry, version("3"), ["champion", "default"])
    assert registry.aliases == {"1": ["previous"], "2": [], "3": ["champion", "default"]}


def test_an_alias_that_moves_is_removed_nowhere_first():
    registry = Registry({"1": ["champion"], "2": []}, refuses=False)
    move_aliases(registry, version("2"), ["champion"])
    assert registry.calls == [("2", "champion")], "no moment without a champion"


def test_that_an_alias_was_removed_first_is_in_the_log(caplog):
    """docs/first-real-run.md asks for it."""
    caplog.set_level("INFO", "trellis")
    registry = Registry({"1": ["champion"], "2": []}, refuses=True)
    move_aliases(registry, version("2"), ["champion"])
    (message,) = caplog.messages
    assert says(message, "Removing champion", "version 1", "400 champion is in use")


def test_the_holder_is_found_by_the_alias():
    registry = Registry({"1": ["champion"], "2": []}, refuses=False)
    assert find_by_alias(registry, f"{MODEL}@2", "champion").name == f"{MODEL}@1"
    assert find_by_alias(registry, MODEL, "challenger") is None
