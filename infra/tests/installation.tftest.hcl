# What a plan holds with the variables' defaults. `terraform test` needs no project: the provider is
# mocked. Rules for all plans (roles, keys, names) are in tests/infra.

mock_provider "google" {
  source = "./tests/mocks"

  override_during = plan
}

variables {
  project        = "our-lab"
  images_project = "our-images"
  alert_emails   = ["lab@example.com"]
  labels         = { group = "lab" }
}

run "defaults" {
  command = plan

  assert {
    condition     = google_composer_environment.airflow.config[0].workloads_config[0].triggerer[0].count >= 1
    error_message = "Every task of a run waits in a triggerer: there must be one."
  }

  assert {
    condition     = length(google_composer_environment.airflow.config[0].maintenance_window) == 0
    error_message = "Without maintenance_window the window is Google's own."
  }

  assert {
    condition     = can(regex("-build[.][0-9]+$", google_composer_environment.airflow.config[0].software_config[0].image_version))
    error_message = "The image's build is pinned: another build has other packages."
  }

  assert {
    condition     = google_composer_environment.airflow.config[0].software_config[0].env_variables.TRELLIS_PLATFORM == "platform.yaml"
    error_message = "Airflow has the name of the platform file."
  }

  assert {
    condition     = google_composer_environment.airflow.config[0].node_config[0].service_account == google_service_account.composer.name
    error_message = "Composer does not run as the default account, which may edit the whole project."
  }

  assert {
    condition     = google_storage_bucket.group.uniform_bucket_level_access && google_storage_bucket.group.public_access_prevention == "enforced"
    error_message = "The bucket's access is uniform, and never public."
  }

  assert {
    condition = anytrue([
      for rule in google_storage_bucket.group.lifecycle_rule :
      one(rule.action).type == "Delete" && one(rule.condition).age == 14 && contains(one(rule.condition).matches_prefix, "dataflow/")
    ])
    error_message = "Dataflow's temporary files are deleted after 14 days."
  }

  assert {
    condition = alltrue([
      for rule in google_storage_bucket.group.lifecycle_rule :
      one(rule.action).type != "Delete" || length(coalesce(one(rule.condition).matches_prefix, [])) > 0
    ])
    error_message = "Datasets, runs and models have no age: deletion is for temporary folders only."
  }

  assert {
    condition = alltrue([
      for key, words in { failure = "TRELLIS FAILURE", late = "TRELLIS LATE", warning = "TRELLIS WARNING" } :
      strcontains(google_monitoring_alert_policy.message[key].conditions[0].condition_matched_log[0].filter, words)
    ])
    error_message = "The alerts look for the words that a failed task, a late run and a limit of changes log."
  }

  assert {
    condition = alltrue([
      for policy in concat(
        values(google_monitoring_alert_policy.message),
        values(google_monitoring_alert_policy.threshold),
        [google_monitoring_alert_policy.dag_processor],
      ) : length(policy.notification_channels) == 1 && length(policy.documentation[0].content) > 0
    ])
    error_message = "Each alert reaches someone, and says what to do."
  }

  assert {
    condition = toset(keys(google_monitoring_alert_policy.threshold)) == toset([
      "import_errors", "triggerer", "environment", "endpoint_errors", "endpoint_latency"
    ])
    error_message = "What no run can report about itself has an alert."
  }

  assert {
    condition     = google_artifact_registry_repository.images.docker_config[0].immutable_tags
    error_message = "A version's images never change."
  }

  assert {
    condition = (
      google_artifact_registry_repository.python.virtual_repository_config[0].upstream_policies[0].id == "wheels" &&
      google_artifact_registry_repository.python.virtual_repository_config[0].upstream_policies[0].priority >
      google_artifact_registry_repository.python.virtual_repository_config[0].upstream_policies[1].priority
    )
    error_message = "Our wheels come before PyPI's."
  }

  assert {
    condition     = google_bigquery_dataset.group.location == var.region
    error_message = "Unless said otherwise, tables are where the bucket is."
  }

  assert {
    condition = (
      length(google_kms_crypto_key.group) == 0 && length(google_billing_budget.project) == 0 &&
      length(google_network_connectivity_service_connection_policy.endpoints) == 0
    )
    error_message = "Key, private endpoints and budget are only created if configured."
  }

  assert {
    condition     = google_compute_router_nat.out[0].source_subnetwork_ip_ranges_to_nat == "ALL_SUBNETWORKS_ALL_IP_RANGES"
    error_message = "Alerts leave the private network, for Slack."
  }
}

run "maintained" {
  command = plan

  variables {
    maintenance_window = { days = ["SA", "SU"], start = "22:30", hours = 6 }
  }

  assert {
    condition = one(google_composer_environment.airflow.config[0].maintenance_window) == {
      start_time = "2026-01-01T22:30:00Z"
      end_time   = "2026-01-02T04:30:00Z"
      recurrence = "FREQ=WEEKLY;BYDAY=SA,SU"
    }
    error_message = "The window begins on the days that are named, and may end on the next."
  }
}

run "encrypted" {
  command = plan

  variables {
    encryption = true
  }

  assert {
    condition     = google_kms_crypto_key.group[0].rotation_period == "7776000s"
    error_message = "The key is rotated."
  }

  assert {
    condition     = google_kms_key_ring.group[0].location == var.region
    error_message = "A key encrypts what is in its own region."
  }

  assert {
    condition     = strcontains(output.platform_yaml, "encryption_key: ${google_kms_crypto_key.group[0].id}")
    error_message = "Jobs get the key."
  }
}

run "public" {
  command = plan

  variables {
    private_network = false
  }

  assert {
    condition     = length(google_compute_network.group) == 0 && length(google_compute_router_nat.out) == 0
    error_message = "Without a private network there is none to leave."
  }

  assert {
    condition     = !google_composer_environment.airflow.config[0].enable_private_environment
    error_message = "Composer has public addresses."
  }

  assert {
    condition     = !strcontains(output.platform_yaml, "private_addresses")
    error_message = "Dataflow's workers have public addresses."
  }
}

run "closed" {
  command = plan

  variables {
    outgoing = false
  }

  assert {
    condition     = length(google_compute_network.group) == 1 && length(google_compute_router_nat.out) == 0
    error_message = "Nothing leaves the network but requests to Google's APIs."
  }
}

run "private" {
  command = plan

  variables {
    private_endpoints = true
  }

  assert {
    condition     = google_compute_subnetwork.group[0].private_ip_google_access
    error_message = "Without public addresses, Google's APIs are reached by Private Google Access only."
  }

  assert {
    condition     = google_composer_environment.airflow.config[0].enable_private_environment && google_composer_environment.airflow.config[0].enable_private_builds_only
    error_message = "Composer has no public address either."
  }

  assert {
    condition     = google_composer_environment.airflow.config[0].node_config[0].network == google_compute_network.group[0].id
    error_message = "Airflow is in the network: it asks private endpoints."
  }

  assert {
    condition     = google_network_connectivity_service_connection_policy.endpoints[0].service_class == "gcp-vertexai"
    error_message = "Vertex AI may make the addresses of private endpoints."
  }

  assert {
    condition     = strcontains(output.platform_yaml, "network: projects/123456789012/global/networks/trellis")
    error_message = "Vertex AI wants the network with the project's number."
  }
}

run "budget" {
  command = plan

  variables {
    budget = { billing_account = "012345-6789AB-CDEF01", amount = 500 }
  }

  assert {
    condition     = google_billing_budget.project[0].amount[0].specified_amount[0].units == "500"
    error_message = "The budget is what was said."
  }

  assert {
    condition     = google_billing_budget.project[0].budget_filter[0].projects == toset(["projects/123456789012"])
    error_message = "The budget is this project's, not the billing account's."
  }

  assert {
    condition     = contains(keys(google_project_service.api), "billingbudgets")
    error_message = "Budgets have an API of their own."
  }
}

run "sources" {
  command = plan

  variables {
    source_datasets = ["other-lab.research"]
    source_buckets  = ["scans"]
    region          = "europe-west4"
    location        = "EU"
  }

  assert {
    condition     = google_bigquery_dataset_iam_member.source["other-lab.research"].project == "other-lab"
    error_message = "A dataset of another project is read there."
  }

  assert {
    condition     = google_storage_bucket_iam_member.source["scans/job"].role == "roles/storage.objectViewer"
    error_message = "Jobs read the images, and write none."
  }

  assert {
    condition     = google_bigquery_dataset.group.location == "EU"
    error_message = "The dataset is where the tables are that experiments read."
  }
}

run "images" {
  command = plan

  assert {
    condition = alltrue([
      for repository in [google_artifact_registry_repository.images, google_artifact_registry_repository.documents] :
      repository.project == "our-images"
    ])
    error_message = "Airflow's account, a worker of Composer in this project, may delete images in it."
  }

  assert {
    condition = alltrue([
      for grant in [
        google_artifact_registry_repository_iam_member.job_pulls,
        google_artifact_registry_repository_iam_member.composer_looks_up,
        google_artifact_registry_repository_iam_member.vertex_pulls,
      ] : grant.project == "our-images" && grant.role == "roles/artifactregistry.reader"
    ])
    error_message = "Who runs images reads them there, and writes none."
  }

  assert {
    condition = (
      google_artifact_registry_repository_iam_member.build_pushes["images"].project == "our-images" &&
      google_artifact_registry_repository_iam_member.build_pushes["wheels"].project == "our-lab" &&
      google_project_iam_member.build_reads_scans.project == "our-images"
    )
    error_message = "A release pushes images there, and reads what scans of them have found."
  }

  assert {
    condition = (
      strcontains(output.platform_yaml, "registry: us-central1-docker.pkg.dev/our-images/trellis") &&
      endswith(output.release, "_IMAGES_PROJECT=our-images")
    )
    error_message = "The platform file and a release name the images' project."
  }

  assert {
    condition     = toset(keys(google_project_service.images)) == toset(["artifactregistry", "containeranalysis", "containerscanning"])
    error_message = "The images' project keeps them and scans them."
  }
}
