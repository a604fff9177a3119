# The dataset of what runs make, and the right to read what they start from. Queries run as Airflow;
# jobs read Parquet files, and no table.

resource "google_bigquery_dataset" "group" {
  dataset_id  = var.dataset
  location    = local.location
  description = "Trellis: snapshots, baselines' models, predictions"
  labels      = var.labels

  dynamic "default_encryption_configuration" {
    for_each = local.keys
    content {
      kms_key_name = default_encryption_configuration.value
    }
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

resource "google_bigquery_dataset_iam_member" "composer" {
  dataset_id = google_bigquery_dataset.group.dataset_id
  role       = "roles/bigquery.dataEditor"
  member     = local.composer
}

resource "google_bigquery_dataset_iam_member" "source" {
  for_each = var.source_datasets

  project    = split(".", each.value)[0]
  dataset_id = split(".", each.value)[1]
  role       = "roles/bigquery.dataViewer"
  member     = local.composer
}
