# Releases: Cloud Build runs cloudbuild.yaml as this account.

resource "google_service_account" "build" {
  account_id   = "${var.name}-build"
  display_name = "Trellis: tests, builds and releases"
  depends_on   = [google_project_service.api]
}

locals {
  build = "serviceAccount:${google_service_account.build.email}"
}

# No predefined role updates an environment without also making and deleting them.
resource "google_project_iam_custom_role" "release" {
  role_id     = replace("${var.name}_release", "-", "_")
  title       = "Trellis: release into Composer"
  description = "See and update Composer environments; no creating, no deleting. See endpoints."
  permissions = [
    "aiplatform.endpoints.list",                   # to ask for a canary of an experiment that is removed
    "composer.environments.executeAirflowCommand", # to ask for runs of an experiment that is removed
    "composer.environments.get",
    "composer.environments.update",
    "composer.operations.get",
  ]
}

# What a scan has found in an image that was pushed.
resource "google_project_iam_member" "build_reads_scans" {
  project = var.images_project
  role    = "roles/containeranalysis.occurrences.viewer"
  member  = local.build
}

resource "google_project_iam_member" "build" {
  for_each = {
    # A build's log.
    log = "roles/logging.logWriter"
    # The environment's packages.
    release = google_project_iam_custom_role.release.name
  }

  project = var.project
  role    = each.value
  member  = local.build
}

resource "google_artifact_registry_repository_iam_member" "build_pushes" {
  for_each = {
    documents = { project = var.images_project, name = google_artifact_registry_repository.documents.name }
    images    = { project = var.images_project, name = google_artifact_registry_repository.images.name }
    wheels    = { project = var.project, name = google_artifact_registry_repository.wheels.name }
  }

  project    = each.value.project
  location   = var.region
  repository = each.value.name
  role       = "roles/artifactregistry.writer"
  member     = local.build
}

# Signs what an image was built of. The build's account alone may; nobody has the private part.
resource "google_kms_key_ring" "release" {
  name       = "${var.name}-release"
  location   = var.region
  depends_on = [google_project_service.api]
}

resource "google_kms_crypto_key" "release" {
  name     = "${var.name}-release"
  key_ring = google_kms_key_ring.release.id
  purpose  = "ASYMMETRIC_SIGN"
  labels   = var.labels

  version_template {
    algorithm = "EC_SIGN_P256_SHA256"
  }

  lifecycle {
    # Without it no signature of an earlier release can be checked.
    prevent_destroy = true
  }
}

resource "google_kms_crypto_key_iam_member" "build_signs" {
  crypto_key_id = google_kms_crypto_key.release.id
  role          = "roles/cloudkms.signer"
  member        = local.build
}

# An update of the environment runs things as the environment's account.
resource "google_service_account_iam_member" "build_updates_composer" {
  service_account_id = google_service_account.composer.name
  role               = "roles/iam.serviceAccountUser"
  member             = local.build
}

# The DAG files, and the bucket's own record, which clients ask for before its objects.
resource "google_storage_bucket_iam_member" "build_syncs_dags" {
  for_each = toset(["roles/storage.objectUser", "roles/storage.legacyBucketReader"])

  bucket = local.airflow_files
  role   = each.value
  member = local.build
}

# The sources that `gcloud builds submit` uploads, and nothing else in the group's bucket.
resource "google_storage_bucket_iam_member" "build_reads_source" {
  bucket = google_storage_bucket.group.name
  role   = "roles/storage.objectViewer"
  member = local.build

  condition {
    title       = "sources"
    description = "What gcloud builds submit uploads"
    expression  = "resource.name.startsWith(\"projects/_/buckets/${local.bucket}/objects/cloudbuild/\")"
  }
}
