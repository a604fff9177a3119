# The group's bucket: datasets, runs, models. And what may be read elsewhere.

resource "google_storage_bucket" "group" {
  name     = local.bucket
  location = var.region
  labels   = var.labels

  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  # Models that are served lie here: `terraform destroy` leaves a bucket with anything in it alone.
  force_destroy = false

  # Temporary files of Dataflow, and sources that were built (build.tf). Datasets and runs have no
  # age: a dataset that is there is used again, and a served model belongs to its run.
  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age            = var.temporary_days
      matches_prefix = ["dataflow/", "cloudbuild/"]
    }
  }

  # Parts of uploads that were broken off; they are paid for, and no listing shows them.
  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 7
    }
  }

  soft_delete_policy {
    retention_duration_seconds = 7 * 24 * 3600
  }

  dynamic "encryption" {
    for_each = local.keys
    content {
      default_kms_key_name = encryption.value
    }
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# Both accounts read and write what a run makes.
resource "google_storage_bucket_iam_member" "objects" {
  for_each = { composer = local.composer, job = local.job }

  bucket = google_storage_bucket.group.name
  role   = "roles/storage.objectUser"
  member = each.value
}

# The models that it serves, and images of the group's that a request names: of what runs write (layout.py of
# the contracts) the models alone, no rows, predictions or messages. A list asks for the bucket itself.
locals {
  objects = "projects/_/buckets/${local.bucket}/objects/"
  # Objects that none of these matches are the group's own files.
  made = ["{e}/runs/", "{e}/datasets/", "{e}/predictions/", "_index/{e}", "dataflow/{e}", "cloudbuild/{e}"]
}

resource "google_storage_bucket_iam_member" "served" {
  bucket = google_storage_bucket.group.name
  role   = "roles/storage.objectViewer"
  member = local.serve

  condition {
    title       = "models"
    description = "Models of runs, and files that no run made"
    expression = join(" || ", [
      "resource.name.extract(\"${local.objects}{e}/runs/\") != \"\" && resource.name.extract(\"/training/{rank}/model/\") != \"\"",
      join(" && ", [for name in local.made : "resource.name.extract(\"${local.objects}${name}\") == \"\""]),
    ])
  }
}

# The bucket's own record, which clients ask for before its objects.
resource "google_storage_bucket_iam_member" "job_sees_bucket" {
  bucket = google_storage_bucket.group.name
  role   = "roles/storage.legacyBucketReader"
  member = local.job
}

# Accounts that read images and manifests elsewhere; Vertex AI itself when it imports them for AutoML.
locals {
  readers = {
    aiplatform = "serviceAccount:${local.agents.aiplatform}"
    composer   = local.composer
    job        = local.job
    serve      = local.serve
  }
}

resource "google_storage_bucket_iam_member" "source" {
  for_each = {
    for pair in setproduct(var.source_buckets, keys(local.readers)) : join("/", pair) => {
      bucket = pair[0]
      member = local.readers[pair[1]]
    }
  }

  bucket = each.value.bucket
  role   = "roles/storage.objectViewer"
  member = each.value.member
}
