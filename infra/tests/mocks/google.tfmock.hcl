# What Google would say of what is made.

mock_data "google_project" {
  defaults = {
    number = "123456789012"
  }
}

mock_resource "google_composer_environment" {
  defaults = {
    config = {
      dag_gcs_prefix = "gs://us-central1-trellis-0123abcd-bucket/dags"
      airflow_uri    = "https://0123abcd-dot-us-central1.composer.googleusercontent.com"
    }
  }
}

mock_resource "google_kms_crypto_key" {
  defaults = {
    id = "projects/our-lab/locations/us-central1/keyRings/trellis/cryptoKeys/trellis"
  }
}

mock_resource "google_compute_network" {
  defaults = {
    id = "projects/our-lab/global/networks/trellis"
  }
}

# Accounts have different addresses.
override_resource {
  target = google_service_account.composer
  values = {
    email = "trellis-composer@our-lab.iam.gserviceaccount.com"
    name  = "projects/our-lab/serviceAccounts/trellis-composer@our-lab.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.job
  values = {
    email = "trellis-job@our-lab.iam.gserviceaccount.com"
    name  = "projects/our-lab/serviceAccounts/trellis-job@our-lab.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.serve
  values = {
    email = "trellis-serve@our-lab.iam.gserviceaccount.com"
    name  = "projects/our-lab/serviceAccounts/trellis-serve@our-lab.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_service_account.build
  values = {
    email = "trellis-build@our-lab.iam.gserviceaccount.com"
    name  = "projects/our-lab/serviceAccounts/trellis-build@our-lab.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_project_iam_custom_role.release
  values = {
    name = "projects/our-lab/roles/trellis_release"
  }
}
