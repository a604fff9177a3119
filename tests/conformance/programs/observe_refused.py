"""Resources that local_gcp does not have: observe_refused.py."""

from typing import Any

from google.cloud import aiplatform_v1 as api
from observing import DATASETS, PARENT, accepted, client, show

STORE = f"{PARENT}/metadataStores/default"
FEATURES = f"{PARENT}/featurestores/store"
TENSORBOARD = f"{PARENT}/tensorboards/1"
features = client(api.FeaturestoreServiceClient)
tensorboards = client(api.TensorboardServiceClient)
metadata = client(api.MetadataServiceClient)
pipelines = client(api.PipelineServiceClient)
SCHEMAS = "gs://google-cloud-aiplatform/schema"
LABELING = f"{SCHEMAS}/datalabelingjob/inputs/image_classification_1.0.0.yaml"


def create_dataset(kind: str) -> Any:
    schema = f"{SCHEMAS}/dataset/metadata/{kind}_1.0.0.yaml"
    return client(DATASETS).create_dataset(
        parent=PARENT, dataset={"display_name": "observed", "metadata_schema_uri": schema}
    )


CALLS: dict[str, Any] = {
    "CreateFeaturestore": lambda: features.create_featurestore(
        parent=PARENT, featurestore={}, featurestore_id="store"
    ),
    "DeleteFeaturestore": lambda: features.delete_featurestore(name=FEATURES),
    "CreateEntityType": lambda: features.create_entity_type(
        parent=FEATURES, entity_type={}, entity_type_id="user"
    ),
    "CreateFeature": lambda: features.create_feature(
        parent=f"{FEATURES}/entityTypes/user", feature={"value_type": "DOUBLE"}, feature_id="age"
    ),
    "BatchCreateFeatures": lambda: features.batch_create_features(
        parent=f"{FEATURES}/entityTypes/user", requests=[]
    ),
    "ImportFeatureValues": lambda: features.import_feature_values(
        entity_type=f"{FEATURES}/entityTypes/user"
    ),
    "BatchReadFeatureValues": lambda: features.batch_read_feature_values(featurestore=FEATURES),
    "CreateTensorboard": lambda: tensorboards.create_tensorboard(
        parent=PARENT, tensorboard={"display_name": "observed"}
    ),
    "DeleteTensorboard": lambda: tensorboards.delete_tensorboard(name=TENSORBOARD),
    "DeleteTensorboardRun": lambda: tensorboards.delete_tensorboard_run(
        name=f"{TENSORBOARD}/experiments/a/runs/b"
    ),
    "CreateArtifact": lambda: metadata.create_artifact(parent=STORE, artifact={}),
    "DeleteArtifact": lambda: metadata.delete_artifact(name=f"{STORE}/artifacts/a"),
    "DeleteContext": lambda: metadata.delete_context(name=f"{STORE}/contexts/a"),
    "DeletePipelineJob": lambda: pipelines.delete_pipeline_job(name=f"{PARENT}/pipelineJobs/1"),
    "CreateDataset of text": lambda: create_dataset("text"),
    "CreateDataset of video": lambda: create_dataset("video"),
    "CreateDataset of tables_1.0.0": lambda: create_dataset("tables"),
    "CreateDataLabelingJob": lambda: client(api.JobServiceClient).create_data_labeling_job(
        parent=PARENT,
        data_labeling_job={
            "display_name": "observed",
            "datasets": [f"{PARENT}/datasets/1"],
            "labeler_count": 1,
            "instruction_uri": "gs://observed/instruction.txt",
            "inputs_schema_uri": LABELING,
            "inputs": {"annotationSpecs": ["rose"]},
        },
    ),
    "CreateSpecialistPool": lambda: client(api.SpecialistPoolServiceClient).create_specialist_pool(
        parent=PARENT, specialist_pool={"name": f"{PARENT}/specialistPools/1", "display_name": "a"}
    ),
}
show({name: accepted(call) for name, call in CALLS.items()})
