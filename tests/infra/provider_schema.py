"""The schema of Terraform's google provider, without the provider.

The provider is a large Go program from HashiCorp's registry, which CI may not reach. CDK Terrain's
bindings on PyPI are generated from the same schema (`terraform providers schema -json`), and their
JavaScript keeps it: of every attribute its type, and whether it is required, optional or computed;
of every block how it nests. This reads it out of the installed package. Nothing of it is run.

Lost on the way: rules on values (patterns, ranges, conflicts), which only the provider itself has.
"""

import importlib.util
import re
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PACKAGE = "cdktn_provider_google"

SIMPLE = {"string": "string", "number": "number", "boolean": "bool", "any": "dynamic"}
"""Scalar types: theirs, and Terraform's."""

_RESOURCE = re.compile(r'static tfResourceType = "(\w+)";')
_VERSION = re.compile(r"providerVersion: '([\d.]+)'")
_CLASS = re.compile(r"^class (\w+) extends cdktn\.\w+ \{\n(.*?)^\}$", re.S | re.M)
_MEMBER = re.compile(
    r"^    // (\w+) - computed: (true|false), optional: (true|false), required: (true|false)\n(.*?)"
    r"(?=^    // |\Z)",
    re.S | re.M,
)
_NESTED = re.compile(
    r'^    _\w+ = new (\w+?)(OutputReference|List|Map)\(this, "\w+"(, true)?', re.M
)
_GETTER = re.compile(
    r"this\.interpolationForAttribute\(|this\.get(\w+)Attribute\("
    r"|new cdktn\.(\w+Map(?:List)?)\(this"
)
_CONFIGURED = re.compile(
    r"^ +(\w+): \{\n +value: .*\n +isBlock: (?:true|false),\n"
    r' +type: "(\w+)",\n +storageClassType: "(\w+)",\n',
    re.M,
)


class SchemaError(Exception):
    """The bindings are not written as this module expects: their generator has changed."""


def read(names: Iterable[str]) -> dict[str, Any]:
    """Schemas by name: `google` (the provider), `google_x` (resources), `data.google_x`.

    {"attributes": {name: {type, required, optional, computed}}, "blocks": {name: {block, nesting,
    min, max}}}, types as Terraform writes them in JSON. Raises SchemaError.
    """
    wanted = {_folder(name): name for name in names}
    schemas = {}
    with tarfile.open(_archive()) as archive:
        for member in archive:
            parts = Path(member.name).parts
            if parts[-1] == "index.js" and parts[-2] in wanted and parts[-3] == "lib":
                source = archive.extractfile(member).read().decode()
                schemas[wanted[parts[-2]]] = _Source(source).schema()
    if missing := set(wanted.values()) - schemas.keys():
        raise SchemaError(f"the google provider has no {', '.join(sorted(missing))}")
    return schemas


def version() -> str:
    """The version of the provider whose schema this is."""
    with tarfile.open(_archive()) as archive:
        for member in archive:
            if member.name.endswith("lib/project-service/index.js"):
                return _VERSION.search(archive.extractfile(member).read().decode())[1]
    raise SchemaError("the bindings do not name the provider's version")


def _archive() -> Path:
    package = Path(importlib.util.find_spec(PACKAGE).submodule_search_locations[0])
    return next((package / "_jsii").glob("*.tgz"))


def _folder(name: str) -> str:
    if name == "google":
        return "provider"
    if name.startswith("data."):
        return name.replace("data.", "data-").replace("_", "-")
    return name.removeprefix("google_").replace("_", "-")


class _Source:
    """One file of the bindings: a resource, a data source or the provider, with its blocks."""

    def __init__(self, text: str):
        self.classes = dict(_CLASS.findall(text))
        main = [name for name, body in self.classes.items() if _RESOURCE.search(body)]
        if len(main) != 1:
            raise SchemaError(f"one resource is expected in a file, not {main}")
        self.main = main[0]
        # Types stand with the functions that write a configuration, by the class they belong to.
        self.configured: dict[str, dict[str, tuple[str, str]]] = {}
        self._add_configured(self.main, self.classes[self.main])
        functions = re.findall(
            r"^function (\w+)ToHclTerraform\(struct\) \{\n(.*?)^\}$", text, re.S | re.M
        )
        for name, body in functions:
            self._add_configured(f"{name[0].upper()}{name[1:]}OutputReference", body)

    def _add_configured(self, owner: str, body: str) -> None:
        found = _CONFIGURED.findall(body)
        self.configured[owner] = {name: (kind, storage) for name, kind, storage in found}

    def schema(self) -> dict[str, Any]:
        schema = self._block(self.main)
        if not schema["attributes"]:
            raise SchemaError(f"{self.main} has no attributes")
        return schema

    def _block(self, owner: str) -> dict[str, Any]:
        attributes, blocks = {}, {}
        for name, computed, optional, required, body in _MEMBER.findall(self.classes[owner]):
            nested = _NESTED.search(body)
            configured = self.configured[owner].get(name)
            if not nested and configured and _scalar(configured[1]) not in SIMPLE:
                continue  # A block of the provider's own configuration, such as batching.
            # Terraform takes a block that the provider may fill in itself for an attribute.
            if nested and configured and computed == "false":
                blocks[name] = self._nested(nested, configured[0], required == "true")
            else:
                attributes[name] = {
                    "type": self._type(name, configured, nested, body),
                    "required": required == "true",
                    "optional": optional == "true",
                    "computed": computed == "true",
                }
        return {"attributes": attributes, "blocks": blocks}

    def _nested(self, nested: re.Match, kind: str, required: bool) -> dict[str, Any]:
        block = self._block(f"{nested[1]}OutputReference")
        if kind == "struct":
            return {"block": block, "nesting": "SINGLE", "min": 0, "max": 0}
        most = 1 if nested[2] == "OutputReference" else 0
        return {"block": block, "nesting": kind.upper(), "min": int(required), "max": most}

    def _type(
        self, name: str, configured: tuple[str, str] | None, nested: re.Match | None, body: str
    ) -> Any:
        """Terraform's type of an attribute, for example ["list", "string"]."""
        if nested:
            block = self._block(f"{nested[1]}OutputReference")
            kind = configured[0] if configured else "set" if nested[3] else "list"
            return [kind, _object(block)]
        if configured:
            kind, storage = configured
            scalar = SIMPLE[_scalar(storage)]
            return scalar if kind == "simple" else [kind, scalar]
        getter = _GETTER.search(body)
        if not getter:
            raise SchemaError(f"no type of {name} in {body[:200]!r}")
        what = getter[1] or getter[2]
        if what is None:
            return "dynamic"
        if what in ("String", "Number", "Boolean"):
            return SIMPLE[what.lower()]
        if "Map" in what:
            values = ["map", SIMPLE[_scalar(what).lower()]]
            return ["list", values] if what.endswith("List") else values
        kind = "set" if "Fn.tolist" in body else "list"
        return [kind, "number" if what.startswith("Number") else "string"]


def _scalar(storage: str) -> str:
    return re.sub(r"(List|Map)+$", "", storage)


def _object(block: dict[str, Any]) -> Any:
    fields = {name: attribute["type"] for name, attribute in block["attributes"].items()}
    for name, inner in block["blocks"].items():
        fields[name] = [inner["nesting"].lower(), _object(inner["block"])]
    return ["object", fields]
