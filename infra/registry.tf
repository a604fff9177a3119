# Images of the jobs, and the Python package of Airflow's side.

resource "google_artifact_registry_repository" "images" {
  project       = var.images_project
  location      = var.region
  repository_id = var.name
  description   = "Job images: trainer, export"
  format        = "DOCKER"
  kms_key_name  = local.key
  labels        = var.labels

  docker_config {
    # A version's images never change: what a model was trained with is what serves it. For the
    # same reason nothing here is ever cleaned up by age.
    immutable_tags = true
  }

  depends_on = [google_project_service.api, google_project_service.images, google_kms_crypto_key_iam_member.agent]
}

# Of each image that a release built: what is in it, and what it was built of. A file there cannot be written over.
resource "google_artifact_registry_repository" "documents" {
  project       = var.images_project
  location      = var.region
  repository_id = "${var.name}-documents"
  description   = "SBOM and provenance of the job images"
  format        = "GENERIC"
  kms_key_name  = local.key
  labels        = var.labels
  depends_on    = [google_project_service.api, google_project_service.images, google_kms_crypto_key_iam_member.agent]
}

resource "google_artifact_registry_repository" "wheels" {
  location      = var.region
  repository_id = "${var.name}-wheels"
  description   = "trellis-airflow"
  format        = "PYTHON"
  kms_key_name  = local.key
  labels        = var.labels
  depends_on    = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

resource "google_artifact_registry_repository" "pypi" {
  location      = var.region
  repository_id = "${var.name}-pypi"
  description   = "Cache of PyPI"
  format        = "PYTHON"
  mode          = "REMOTE_REPOSITORY"
  kms_key_name  = local.key
  labels        = var.labels

  remote_repository_config {
    python_repository {
      public_repository = "PYPI"
    }
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# Composer's one index: our wheels first, then PyPI. With PyPI as a second index beside the wheels,
# anybody who publishes a trellis-airflow there could have it installed here.
resource "google_artifact_registry_repository" "python" {
  location      = var.region
  repository_id = "${var.name}-python"
  description   = "What Composer installs from: wheels, then PyPI"
  format        = "PYTHON"
  mode          = "VIRTUAL_REPOSITORY"
  labels        = var.labels

  virtual_repository_config {
    upstream_policies {
      id         = "wheels"
      repository = google_artifact_registry_repository.wheels.id
      priority   = 200
    }
    upstream_policies {
      id         = "pypi"
      repository = google_artifact_registry_repository.pypi.id
      priority   = 100
    }
  }
}

# Dataflow pulls as the job account.
resource "google_artifact_registry_repository_iam_member" "job_pulls" {
  project    = var.images_project
  location   = var.region
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.reader"
  member     = local.job
}

# Vertex AI pulls as its own service agent.
resource "google_artifact_registry_repository_iam_member" "vertex_pulls" {
  project    = var.images_project
  location   = var.region
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.reader"
  member     = "serviceAccount:${local.agents.aiplatform}"
}

# The task plan asks for the images' digests, by which later runs know what they may reuse.
resource "google_artifact_registry_repository_iam_member" "composer_looks_up" {
  project    = var.images_project
  location   = var.region
  repository = google_artifact_registry_repository.images.name
  role       = "roles/artifactregistry.reader"
  member     = local.composer
}

# A virtual repository asks for the right to each repository behind it.
resource "google_artifact_registry_repository_iam_member" "composer_installs" {
  for_each = {
    python = google_artifact_registry_repository.python.name
    wheels = google_artifact_registry_repository.wheels.name
    pypi   = google_artifact_registry_repository.pypi.name
  }

  location   = var.region
  repository = each.value
  role       = "roles/artifactregistry.reader"
  member     = local.composer
}
