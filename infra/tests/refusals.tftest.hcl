# Values that would fail late, or cost, are refused before anything is planned.

mock_provider "google" {
  source = "./tests/mocks"

  override_during = plan
}

variables {
  project        = "our-lab"
  images_project = "our-images"
}

run "images_that_airflow_may_delete" {
  command = plan
  variables {
    images_project = "our-lab"
  }
  expect_failures = [var.images_project]
}

run "no_triggerer" {
  command = plan
  variables {
    triggerers = 0
  }
  expect_failures = [var.triggerers]
}

run "old_airflow" {
  command = plan
  variables {
    image_version = "composer-3-airflow-3.2.2-build.1"
  }
  expect_failures = [var.image_version]
}

run "build_not_pinned" {
  command = plan
  variables {
    image_version = "composer-3-airflow-3.3.1"
  }
  expect_failures = [var.image_version]
}

run "maintenance_that_is_too_short" {
  command = plan
  variables {
    maintenance_window = { days = ["SA", "SU"], start = "01:00", hours = 5 }
  }
  expect_failures = [var.maintenance_window]
}

run "maintenance_on_one_day_named_twice" {
  command = plan
  variables {
    maintenance_window = { days = ["SA", "SA"], start = "01:00", hours = 6 }
  }
  expect_failures = [var.maintenance_window]
}

run "maintenance_in_pieces_that_are_too_short" {
  command = plan
  variables {
    maintenance_window = { days = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"], start = "01:00", hours = 3 }
  }
  expect_failures = [var.maintenance_window]
}

run "maintenance_on_no_day" {
  command = plan
  variables {
    maintenance_window = { days = ["Sat"], start = "01:00", hours = 24 }
  }
  expect_failures = [var.maintenance_window]
}

run "maintenance_at_no_time" {
  command = plan
  variables {
    maintenance_window = { days = ["SA"], start = "25:00", hours = 24 }
  }
  expect_failures = [var.maintenance_window]
}

run "key_in_another_place" {
  command = plan
  variables {
    encryption = true
    location   = "US"
  }
  expect_failures = [var.location]
}

run "tables_far_from_the_bucket" {
  command = plan
  variables {
    location = "EU"
  }
  expect_failures = [var.location]
}

run "private_endpoints_without_network" {
  command = plan
  variables {
    private_network   = false
    private_endpoints = true
  }
  expect_failures = [var.private_endpoints]
}

run "bucket_as_uri" {
  command = plan
  variables {
    bucket = "gs://lab"
  }
  expect_failures = [var.bucket]
}

run "source_bucket_as_uri" {
  command = plan
  variables {
    source_buckets = ["gs://scans"]
  }
  expect_failures = [var.source_buckets]
}

run "source_dataset_without_project" {
  command = plan
  variables {
    source_datasets = ["research"]
  }
  expect_failures = [var.source_datasets]
}

run "zone_for_region" {
  command = plan
  variables {
    region = "us-central1-a"
  }
  expect_failures = [var.region]
}

run "platform_file_in_a_folder" {
  command = plan
  variables {
    platform_file = "../platform.yaml"
  }
  expect_failures = [var.platform_file]
}

run "budget_in_cents" {
  command = plan
  variables {
    budget = { billing_account = "012345-6789AB-CDEF01", amount = 0.5 }
  }
  expect_failures = [var.budget]
}

run "label_in_capitals" {
  command = plan
  variables {
    labels = { Group = "lab" }
  }
  expect_failures = [var.labels]
}
