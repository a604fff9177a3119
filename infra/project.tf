# Names that several files use, and the APIs.

data "google_project" "this" {
  project_id = var.project
}

data "google_project" "images" {
  project_id = var.images_project
}

locals {
  number   = data.google_project.this.number
  bucket   = coalesce(var.bucket, "${var.project}-${var.name}")
  location = coalesce(var.location, var.region)

  # Identities by which Google's services act in this project. `gcloud beta services identity
  # create` makes those that are not there yet (README.md).
  agents = {
    aiplatform       = "service-${local.number}@gcp-sa-aiplatform.iam.gserviceaccount.com"
    artifactregistry = "service-${local.number}@gcp-sa-artifactregistry.iam.gserviceaccount.com"
    bigquery         = "bq-${local.number}@bigquery-encryption.iam.gserviceaccount.com"
    composer         = "service-${local.number}@cloudcomposer-accounts.iam.gserviceaccount.com"
    compute          = "service-${local.number}@compute-system.iam.gserviceaccount.com"
    dataflow         = "service-${local.number}@dataflow-service-producer-prod.iam.gserviceaccount.com"
    storage          = "service-${local.number}@gs-project-accounts.iam.gserviceaccount.com"
  }

  services = concat(
    [
      "accesscontextmanager", # the doctor reads the perimeter
      "aiplatform",
      "artifactregistry",
      "bigquery",
      "cloudbuild",
      "cloudkms",
      "cloudresourcemanager",
      "composer",
      "compute",
      "dataflow",
      "iam",
      "iamcredentials",
      "logging",
      "monitoring",
      "orgpolicy", # the doctor reads the policies in force
      "serviceusage",
      "storage",
    ],
    var.private_network ? ["servicenetworking"] : [],
    var.private_endpoints ? ["networkconnectivity"] : [],
    var.budget != null ? ["billingbudgets"] : [],
  )
}

resource "google_project_service" "images" {
  for_each = toset([
    "artifactregistry",
    "containeranalysis",
    "containerscanning", # scans each image that is pushed, at 0.26 USD
  ])

  project            = var.images_project
  service            = "${each.value}.googleapis.com"
  disable_on_destroy = false
}

resource "google_project_service" "api" {
  for_each = toset(local.services)

  project = var.project
  service = "${each.value}.googleapis.com"

  # Other things in the project may need it when this is gone.
  disable_on_destroy = false
}
