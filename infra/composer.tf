# Airflow: Managed Service for Apache Airflow Gen 3, which was Cloud Composer 3.

resource "google_composer_environment" "airflow" {
  name   = var.name
  region = var.region
  labels = var.labels

  config {
    environment_size           = var.environment_size
    enable_private_environment = var.private_network
    enable_private_builds_only = var.private_network

    software_config {
      image_version = var.image_version

      env_variables = {
        TRELLIS_PLATFORM = var.platform_file
      }
    }

    node_config {
      service_account = google_service_account.composer.name
      network         = one(google_compute_network.group[*].id)
      subnetwork      = one(google_compute_subnetwork.group[*].id)
    }

    # Memory is what Google's client libraries take when imported; the tasks themselves do little.
    workloads_config {
      scheduler {
        count      = 1
        cpu        = 1
        memory_gb  = 4
        storage_gb = 1
      }
      dag_processor {
        count      = 1
        cpu        = 1
        memory_gb  = 4
        storage_gb = 1
      }
      triggerer {
        count     = var.triggerers
        cpu       = 1
        memory_gb = 4
      }
      web_server {
        cpu        = 1
        memory_gb  = 4
        storage_gb = 1
      }
      worker {
        min_count  = 1
        max_count  = var.max_workers
        cpu        = 1
        memory_gb  = 4
        storage_gb = 2
      }
    }

    # Without one, the window is Google's own. Runs go on: a task finds its job again by its labels.
    dynamic "maintenance_window" {
      for_each = var.maintenance_window[*]
      content {
        start_time = "2026-01-01T${maintenance_window.value.start}:00Z"
        end_time   = timeadd("2026-01-01T${maintenance_window.value.start}:00Z", "${maintenance_window.value.hours}h")
        recurrence = "FREQ=WEEKLY;BYDAY=${join(",", maintenance_window.value.days)}"
      }
    }

    dynamic "encryption_config" {
      for_each = local.keys
      content {
        kms_key_name = encryption_config.value
      }
    }
  }

  lifecycle {
    # A release installs dags/requirements-composer.txt, once its wheel is in the registry, and an
    # older release takes it back (cloudbuild.yaml). Terraform leaves the packages alone.
    ignore_changes = [config[0].software_config[0].pypi_packages]
  }

  depends_on = [
    google_project_iam_member.agent,
    google_project_iam_member.composer,
    google_service_account_iam_member.composer_builds_itself,
    google_kms_crypto_key_iam_member.agent,
  ]
}

locals {
  dags          = google_composer_environment.airflow.config[0].dag_gcs_prefix
  airflow_files = split("/", local.dags)[2]
}

# Where Composer's pip looks. It reads this file from the environment's own bucket.
resource "google_storage_bucket_object" "pip" {
  bucket  = local.airflow_files
  name    = "config/pip/pip.conf"
  content = <<-INI
    [global]
    index-url = https://${var.region}-python.pkg.dev/${var.project}/${google_artifact_registry_repository.python.name}/simple/
  INI

  depends_on = [google_artifact_registry_repository_iam_member.composer_installs]
}
