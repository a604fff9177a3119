"""What local_gcp's own test sends are the query parameters of Google's discovery documents."""

import json

from tests.conformance import discovery

FACTS = discovery.ROOT / "local_gcp/tests/query_parameters.json"


def test_the_facts_are_those_of_the_documents():
    apis = ("bigquery", "storage", "dataflow")
    documented = {
        method.id: [method.description["httpMethod"], method.path, *names]
        for method in discovery.methods()
        if method.id.partition(".")[0] in apis and (names := method.query_names)
    }
    assert json.loads(FACTS.read_text()) == documented
