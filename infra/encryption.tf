# One key for everything, if the group wants one. Each service encrypts as its own agent, so each
# needs the right to the key. https://docs.cloud.google.com/kms/docs/compatible-services

locals {
  key = one(google_kms_crypto_key.group[*].id)
  # For `dynamic` blocks: known when planning, as the key's name is not.
  keys = var.encryption ? [local.key] : []

  # Dataflow encrypts its state itself, its workers' disks through Compute Engine. Composer 3 needs
  # its own agent and Cloud Storage's.
  key_users = var.encryption ? merge(local.agents, {
    images = "service-${data.google_project.images.number}@gcp-sa-artifactregistry.iam.gserviceaccount.com"
  }) : {}
}

resource "google_kms_key_ring" "group" {
  count = var.encryption ? 1 : 0

  name       = var.name
  location   = var.region
  depends_on = [google_project_service.api]
}

resource "google_kms_crypto_key" "group" {
  count = var.encryption ? 1 : 0

  name            = var.name
  key_ring        = google_kms_key_ring.group[0].id
  rotation_period = "7776000s" # 90 days. Old versions go on decrypting what they encrypted.
  labels          = var.labels

  lifecycle {
    # Without it all data of the group is lost.
    prevent_destroy = true
  }
}

resource "google_kms_crypto_key_iam_member" "agent" {
  for_each = local.key_users

  crypto_key_id = google_kms_crypto_key.group[0].id
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = "serviceAccount:${each.value}"
  depends_on    = [google_project_service.api]
}
