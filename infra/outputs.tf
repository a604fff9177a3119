output "platform_yaml" {
  description = "The group's platform file: terraform output -raw platform_yaml > dags/platform.yaml"
  value = templatefile("${path.module}/platform.yaml.tftpl", {
    project         = var.project
    region          = var.region
    bucket          = local.bucket
    dataset         = var.dataset
    location        = local.location
    registry        = "${var.region}-docker.pkg.dev/${var.images_project}/${google_artifact_registry_repository.images.repository_id}"
    service_account = google_service_account.job.email
    serving_account = google_service_account.serve.email
    image_uris      = [for name in concat([local.bucket], sort(var.source_buckets)) : "gs://${name}/"]
    network         = local.network
    subnetwork      = "regions/${var.region}/subnetworks/${var.name}"
    encryption_key  = local.key
    labels          = var.labels
  })
}

output "airflow" {
  description = "Address of Airflow's UI."
  value       = google_composer_environment.airflow.config[0].airflow_uri
}

output "release" {
  description = "The command that tests, builds and releases the checkout it is called in."
  value = join(" ", [
    "gcloud builds submit --project=${var.project} --region=${var.region} --config=infra/cloudbuild.yaml",
    "--service-account=projects/${var.project}/serviceAccounts/${google_service_account.build.email}",
    "--gcs-source-staging-dir=gs://${local.bucket}/cloudbuild",
    "--substitutions=_NAME=${var.name},_DAGS_BUCKET=${local.airflow_files},_PLATFORM=${var.platform_file},_IMAGES_PROJECT=${var.images_project}",
  ])
}
