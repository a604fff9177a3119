"""Serves a provider's schema by Terraform's plugin protocol 6, and nothing else of a provider.

It is all that `terraform validate` and `terraform test` with a mock_provider ask for. Terraform is
led to it by TF_REATTACH_PROVIDERS, as to a provider under a debugger: no plugin is installed, no
registry asked.
"""

import json
import os
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from tf.gen import grpc_controller_pb2_grpc, tfplugin_pb2_grpc
from tf.gen import tfplugin_pb2 as plugin

SOURCE = "registry.terraform.io/hashicorp/google"

PROTOCOL = 6

_NESTING = {"SINGLE": 1, "LIST": 2, "SET": 3}


@contextmanager
def serve(schemas: Mapping[str, Any], folder: Path) -> Iterator[dict[str, str]]:
    """Serve on a socket in `folder`; gives the environment that leads Terraform to it."""
    address = folder / "provider.sock"
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    tfplugin_pb2_grpc.add_ProviderServicer_to_server(_Provider(schemas), server)
    grpc_controller_pb2_grpc.add_GRPCControllerServicer_to_server(_Controller(), server)
    server.add_insecure_port(f"unix://{address}")
    server.start()
    plugin_at = {
        "Protocol": "grpc",
        "ProtocolVersion": PROTOCOL,
        "Pid": os.getpid(),
        "Test": True,
        "Addr": {"Network": "unix", "String": str(address)},
    }
    try:
        yield {"TF_REATTACH_PROVIDERS": json.dumps({SOURCE: plugin_at})}
    finally:
        server.stop(grace=None)


class _Controller(grpc_controller_pb2_grpc.GRPCControllerServicer):
    """Terraform would end a plugin with its last command; this one serves many."""


class _Provider(tfplugin_pb2_grpc.ProviderServicer):
    def __init__(self, schemas: Mapping[str, Any]):
        provider = schemas["google"]
        data = {n.removeprefix("data."): s for n, s in schemas.items() if n.startswith("data.")}
        resources = {n: s for n, s in schemas.items() if n.startswith("google_")}
        self._schema = plugin.GetProviderSchema.Response(
            provider=_schema(provider),
            resource_schemas={name: _schema(schema) for name, schema in resources.items()},
            data_source_schemas={name: _schema(schema) for name, schema in data.items()},
        )

    def GetProviderSchema(self, request, context):  # noqa: N802
        return self._schema

    def ValidateProviderConfig(self, request, context):  # noqa: N802
        return plugin.ValidateProviderConfig.Response()

    def ValidateResourceConfig(self, request, context):  # noqa: N802
        return plugin.ValidateResourceConfig.Response()

    def ValidateDataResourceConfig(self, request, context):  # noqa: N802
        return plugin.ValidateDataResourceConfig.Response()


def _schema(block: Mapping[str, Any]) -> plugin.Schema:
    return plugin.Schema(version=0, block=_block(block))


def _block(block: Mapping[str, Any]) -> plugin.Schema.Block:
    attributes = [
        plugin.Schema.Attribute(
            name=name,
            type=json.dumps(attribute["type"]).encode(),
            required=attribute["required"],
            optional=attribute["optional"],
            computed=attribute["computed"],
        )
        for name, attribute in block["attributes"].items()
    ]
    nested = [
        plugin.Schema.NestedBlock(
            type_name=name,
            block=_block(inner["block"]),
            nesting=_NESTING[inner["nesting"]],
            min_items=inner["min"],
            max_items=inner["max"],
        )
        for name, inner in block["blocks"].items()
    ]
    return plugin.Schema.Block(attributes=attributes, block_types=nested)
