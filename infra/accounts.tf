# Who does what. Each role stands beside the reason for it; README.md has the same list as a table.

# Airflow: submits jobs, runs queries, looks at results. Composer's environment runs as this account.
resource "google_service_account" "composer" {
  account_id   = "${var.name}-composer"
  display_name = "Trellis: Airflow"
  depends_on   = [google_project_service.api]
}

# Jobs: the group's code and the data it reads. It can submit nothing.
resource "google_service_account" "job" {
  account_id   = "${var.name}-job"
  display_name = "Trellis: jobs on Vertex AI and Dataflow"
  depends_on   = [google_project_service.api]
}

# Deployed models and batch predictions: they answer any permitted caller, so they write nothing.
resource "google_service_account" "serve" {
  account_id   = "${var.name}-serve"
  display_name = "Trellis: deployed models, batch predictions"
  depends_on   = [google_project_service.api]
}

locals {
  composer = "serviceAccount:${google_service_account.composer.email}"
  job      = "serviceAccount:${google_service_account.job.email}"
  serve    = "serviceAccount:${google_service_account.serve.email}"

  project_roles = {
    composer = {
      # Composer does not start without it. It reaches every bucket of the project.
      "roles/composer.worker" = local.composer
      # Jobs, models, endpoints, batch predictions; there is no smaller role that creates them.
      "roles/aiplatform.user" = local.composer
      # Launch, look at and cancel the export.
      "roles/dataflow.developer" = local.composer
      # Run queries, and find those that it has run; which data they reach, the datasets say
      # (bigquery.tf). The smaller jobUser lists no jobs.
      "roles/bigquery.user" = local.composer
      # See the requests of endpoints.
      "roles/monitoring.viewer" = local.composer
    }
    job = {
      # What Dataflow's workers need of Dataflow itself.
      "roles/dataflow.worker" = local.job
      # The machine that launches a flex template looks at its job. Google's page names the basic
      # role Viewer for that: https://docs.cloud.google.com/dataflow/docs/guides/templates/run-flex-templates
      "roles/dataflow.viewer" = local.job
    }
  }
}

resource "google_project_iam_member" "composer" {
  for_each = local.project_roles.composer

  project = var.project
  role    = each.key
  member  = each.value
}

resource "google_project_iam_member" "job" {
  for_each = local.project_roles.job

  project = var.project
  role    = each.key
  member  = each.value
}

# Airflow starts jobs and deploys models that run as these accounts, and as no other.
resource "google_service_account_iam_member" "composer_starts_jobs" {
  for_each = {
    job   = google_service_account.job.name
    serve = google_service_account.serve.name
  }

  service_account_id = each.value
  role               = "roles/iam.serviceAccountUser"
  member             = local.composer
}

# Composer installs packages from a private repository in builds that run as the environment's
# account, so that this must be allowed to use itself.
resource "google_service_account_iam_member" "composer_builds_itself" {
  service_account_id = google_service_account.composer.name
  role               = "roles/iam.serviceAccountUser"
  member             = local.composer
}

# Google grants these when a service is first used. Where policies were tidied up, nothing works
# without them, and the errors do not say why.
resource "google_project_iam_member" "agent" {
  for_each = {
    aiplatform = "roles/aiplatform.serviceAgent"
    composer   = "roles/composer.serviceAgent"
    dataflow   = "roles/dataflow.serviceAgent"
  }

  project    = var.project
  role       = each.value
  member     = "serviceAccount:${local.agents[each.key]}"
  depends_on = [google_project_service.api]
}
