# A network of the group's own, unless it wants none: nothing in it has a public address.

locals {
  private = var.private_network ? 1 : 0
  out     = var.private_network && var.outgoing ? 1 : 0
  # Vertex AI wants the project's number here, not its ID.
  network = var.private_network ? "projects/${local.number}/global/networks/${var.name}" : null
}

resource "google_compute_network" "group" {
  count = local.private

  name                    = var.name
  auto_create_subnetworks = false
  depends_on              = [google_project_service.api]
}

resource "google_compute_subnetwork" "group" {
  count = local.private

  name          = var.name
  region        = var.region
  network       = google_compute_network.group[0].id
  ip_cidr_range = var.subnet_range
  # Machines without a public address reach Google's APIs, and these only.
  private_ip_google_access = true
}

# The way out, to what is not Google's: alerts to Slack, a package index while Composer installs.
resource "google_compute_router" "out" {
  count = local.out

  name    = "${var.name}-out"
  region  = var.region
  network = google_compute_network.group[0].id
}

resource "google_compute_router_nat" "out" {
  count = local.out

  name                               = "${var.name}-out"
  region                             = var.region
  router                             = google_compute_router.out[0].name
  nat_ip_allocate_option             = "AUTO_ONLY"
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"
}

# Dataflow's workers talk to each other on these ports, and carry this tag.
# https://docs.cloud.google.com/dataflow/docs/guides/routes-firewall
resource "google_compute_firewall" "dataflow" {
  count = local.private

  name        = "${var.name}-dataflow"
  network     = google_compute_network.group[0].id
  source_tags = ["dataflow"]
  target_tags = ["dataflow"]

  allow {
    protocol = "tcp"
    ports    = ["12345-12346"]
  }
}

# Private services access: Vertex AI's machines take addresses of this range, and are peered.
resource "google_compute_global_address" "vertex" {
  count = local.private

  name          = "${var.name}-vertex"
  network       = google_compute_network.group[0].id
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  prefix_length = 16
}

resource "google_service_networking_connection" "vertex" {
  count = local.private

  network                 = google_compute_network.group[0].id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.vertex[0].name]
  depends_on              = [google_project_service.api]
}

# Private endpoints: lets Vertex AI make their addresses in the subnet by Private Service Connect.
resource "google_network_connectivity_service_connection_policy" "endpoints" {
  count = var.private_endpoints ? 1 : 0

  name          = "${var.name}-endpoints"
  location      = var.region
  service_class = "gcp-vertexai"
  description   = "Trellis: private endpoints"
  network       = google_compute_network.group[0].id

  psc_config {
    subnetworks = [google_compute_subnetwork.group[0].id]
  }

  depends_on = [google_project_service.api]
}
