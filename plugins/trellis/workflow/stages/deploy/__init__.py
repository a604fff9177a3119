"""deploy: the promoted training becomes a version of the experiment's model, and is served.

subject             what is deployed: a promoted training, or a champion once more
messages            requests that register and deploy, as pure functions
smoke               test of the deployed challenger
smoke_requests      its requests     skew   what it compares
private             requests to an endpoint inside a network
hold                waiting time between two steps
undeploy_previous   removes the previous version after `keep_previous`
hooks               checks before a step, and its record afterwards
record              reads and writes deployment.json
current             current champion and shares

stage               what there is to say about the stage: its STAGE
tasks               the tasks, and their order
"""
