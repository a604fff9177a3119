"""The images, built once for all tests of a session."""

from collections.abc import Callable, Iterator

import pytest

from tests.docker import builder


@pytest.fixture(scope="session")
def built() -> Iterator[Callable[[str], str]]:
    """built("serve"): the name of that image, built if need be."""
    if why_not := builder.install_tools():
        pytest.skip(why_not)
    names: dict[str, str] = {}

    def build(target: str) -> str:
        if target not in names:
            names[target] = builder.build(target)
        return names[target]

    yield build
    builder.release()


@pytest.fixture(scope="session")
def container(built) -> Iterator[Callable[[str], str]]:
    """container("serve"): a container of that image, one for all tests."""
    containers: dict[str, str] = {}

    def start(target: str) -> str:
        if target not in containers:
            containers[target] = builder.container(built(target))
        return containers[target]

    yield start
    for name in containers.values():
        builder.remove(name)
