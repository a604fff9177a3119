"""The fields of JSON requests that are emulated; the others are refused by name.

A field of a request is one of three: it has its effect or is returned (`used`), Google ignores it
in requests because it is output only (`output`), or it is not emulated. One that is not emulated
may have its default: false, empty, 0, ..._UNSPECIFIED, or what `defaults` names. A message without
an entry is emulated as a whole by the fields that hold it. local_gcp/tests/test_request_fields.py
of Trellis's checkout sends every field of Google's discovery documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Message:
    """The fields of a message. Each is a text of names with spaces between them.

    `only`: the values that a used field may have. `defaults`: of fields that are not emulated.
    """

    used: str
    output: str = ""
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def takes(self, name: str, value: Any) -> bool:
        """Return whether the field may have the value."""
        if name in self.only:
            return is_default(value) or value in self.only[name]
        return (
            name in f"{self.used} {self.output}".split()
            or is_default(value)
            or value == self.defaults.get(name)
        )


def is_default(value: Any) -> bool:
    """Return whether the value is as if its field were not sent."""
    if isinstance(value, dict):
        return all(map(is_default, value.values()))
    if isinstance(value, list):
        return all(map(is_default, value))
    # A number of 64 bits comes as text.
    return not value or (
        isinstance(value, str) and (value == "0" or value.endswith("_UNSPECIFIED"))
    )


_RESOURCE = "creationTime etag id kind lastModifiedTime selfLink type"
_BIGQUERY = {
    "Dataset": Message(
        "access datasetReference defaultEncryptionConfiguration defaultPartitionExpirationMs"
        " defaultTableExpirationMs description friendlyName labels location maxTimeTravelHours"
        " resourceTags storageBillingModel",
        _RESOURCE + " satisfiesPzi satisfiesPzs",
    ),
    "Table": Message(
        "clustering description encryptionConfiguration expirationTime friendlyName labels"
        " requirePartitionFilter resourceTags schema tableReference timePartitioning view",
        _RESOURCE + " location numActiveLogicalBytes numActivePhysicalBytes numBytes"
        " numCurrentPhysicalBytes numLongTermBytes numLongTermLogicalBytes numLongTermPhysicalBytes"
        " numPartitions numPhysicalBytes numRows numTimeTravelPhysicalBytes numTotalLogicalBytes"
        " numTotalPhysicalBytes partitionDefinition streamingBuffer",
        defaults={"managedTableType": "NATIVE"},
    ),
    "TableSchema": Message("fields"),
    "TableFieldSchema": Message(
        "defaultValueExpression description fields maxLength mode name precision roundingMode scale"
        " type"
    ),
    "ViewDefinition": Message("query useLegacySql"),
    "Model": Message(
        "description encryptionConfiguration expirationTime friendlyName labels",
        _RESOURCE + " bestTrialId defaultTrialId featureColumns hparamSearchSpaces hparamTrials"
        " labelColumns location modelReference modelType optimalTrialIds trainingRuns"
        " transformColumns",
    ),
    "Job": Message(
        "configuration jobReference",
        _RESOURCE + " jobCreationReason principal_subject statistics status user_email",
    ),
    "JobConfiguration": Message("copy dryRun extract jobTimeoutMs labels load query", "jobType"),
    "JobConfigurationQuery": Message(
        "clustering createDisposition defaultDataset destinationEncryptionConfiguration"
        " destinationTable maximumBytesBilled parameterMode priority query queryParameters"
        " schemaUpdateOptions timePartitioning useLegacySql useQueryCache writeDisposition",
        "allowLargeResults flattenResults",  # of legacy SQL alone
        # A batch job starts when there is room, which there is.
        only={"priority": ("INTERACTIVE", "BATCH")},
    ),
    "JobConfigurationLoad": Message(
        "allowJaggedRows allowQuotedNewlines autodetect clustering columnNameCharacterMap"
        " createDisposition"
        " destinationEncryptionConfiguration destinationTable destinationTableProperties encoding"
        " fieldDelimiter ignoreUnknownValues maxBadRecords nullMarker parquetOptions quote schema"
        " schemaUpdateOptions skipLeadingRows sourceFormat sourceUris timePartitioning"
        " useAvroLogicalTypes writeDisposition",
        # Names of columns stay as they are; V1 and V2 replace what they do not know.
        only={"columnNameCharacterMap": ("STRICT",)},
        defaults={"fileSetSpecType": "FILE_SET_SPEC_TYPE_FILE_SYSTEM_MATCH"},
    ),
    "ParquetOptions": Message("enableListInference enumAsString"),
    "JobConfigurationExtract": Message(
        "compression destinationFormat destinationUri destinationUris fieldDelimiter printHeader"
        " sourceTable"
    ),
    "JobConfigurationTableCopy": Message(
        "createDisposition destinationEncryptionConfiguration destinationTable sourceTable"
        " sourceTables writeDisposition",
        defaults={"operationType": "COPY"},
    ),
    "QueryParameterType": Message("arrayType structTypes type"),
    "QueryParameterValue": Message("arrayValues structValues value"),
    "QueryRequest": Message(
        "defaultDataset destinationEncryptionConfiguration dryRun formatOptions jobCreationMode"
        " jobTimeoutMs labels location maxResults maximumBytesBilled parameterMode query"
        " queryParameters queryResultsFormat requestId timeoutMs useLegacySql useQueryCache",
        "kind",
        only={
            # A job is made in either mode, as BigQuery may.
            "jobCreationMode": ("JOB_CREATION_REQUIRED", "JOB_CREATION_OPTIONAL"),
            "queryResultsFormat": ("JSON",),
        },
    ),
    # traceId is for Google's own traces.
    "TableDataInsertAllRequest": Message(
        "ignoreUnknownValues rows skipInvalidRows", "kind traceId"
    ),
}
_STORAGE = {
    # Lifecycle rules, which act after days, and copies to another region are kept, not executed.
    "Bucket": Message(
        "autoclass cors customPlacementConfig encryption hierarchicalNamespace iamConfiguration"
        " labels lifecycle location name rpo softDeletePolicy storageClass",
        "etag generation hardDeleteTime id kind locationType metageneration owner projectNumber"
        " satisfiesPZI satisfiesPZS selfLink softDeleteTime timeCreated updated",
    ),
    "Bucket.encryption": Message("defaultKmsKeyName"),
    "Bucket.iamConfiguration.bucketPolicyOnly": Message("enabled", "lockedTime"),
    "Bucket.iamConfiguration.uniformBucketLevelAccess": Message("enabled", "lockedTime"),
    "Bucket.hierarchicalNamespace": Message(""),  # enabled is false
    "Bucket.softDeletePolicy": Message("retentionDurationSeconds", "effectiveTime"),
    "Object": Message(
        "cacheControl contentDisposition contentEncoding contentLanguage contentType crc32c"
        " customTime kmsKeyName md5Hash metadata name storageClass",
        "bucket componentCount customerEncryption etag generation hardDeleteTime id kind mediaLink"
        " metageneration owner restoreToken retentionExpirationTime selfLink size softDeleteTime"
        " timeCreated timeDeleted timeFinalized timeStorageClassUpdated updated",
    ),
    "ComposeRequest": Message("deleteSourceObjects destination sourceObjects", "kind"),
}
MESSAGES: Mapping[str, Mapping[str, Message]] = {"bigquery": _BIGQUERY, "storage": _STORAGE}
