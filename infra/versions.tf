terraform {
  required_version = ">= 1.11, < 2.0"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 8.7"
    }
  }

  # terraform init -backend-config=bucket=STATE_BUCKET
  backend "gcs" {
    prefix = "trellis"
  }
}

# Requests for budgets need a project to which they are charged: this one.
provider "google" {
  project               = var.project
  region                = var.region
  billing_project       = var.project
  user_project_override = true
}
