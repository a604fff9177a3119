variable "project" {
  description = "ID of an existing Google Cloud project with billing."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project is a project's ID: 6 to 30 lower-case letters, digits and dashes."
  }
}

variable "images_project" {
  description = "ID of a second project with billing, for the images and their documents. Airflow's account only reads there; in its own project its role lets it delete images."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.images_project))
    error_message = "images_project is a project's ID: 6 to 30 lower-case letters, digits and dashes."
  }

  validation {
    condition     = var.images_project != var.project
    error_message = "images_project is another project than `project`, in which Airflow's account could delete and replace images: gcloud projects create ID, and link it to the billing account."
  }
}

variable "region" {
  description = "Region of Composer, all jobs, the bucket and the images. It needs Vertex AI."
  type        = string
  default     = "us-central1"

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region is one region, such as us-central1: not a zone, not a multi-region."
  }
}

variable "name" {
  description = "First part of the names of what is made here, for a second installation in one project."
  type        = string
  default     = "trellis"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,16}[a-z0-9]$", var.name))
    error_message = "name has 3 to 18 lower-case letters, digits and dashes: accounts' IDs end at 30."
  }
}

variable "labels" {
  description = "Labels of everything that has labels, and of every job: for the bill."
  type        = map(string)
  default     = {}

  validation {
    condition = alltrue([
      for key, value in var.labels :
      can(regex("^[a-z][a-z0-9_-]{0,62}$", key)) && can(regex("^[a-z0-9_-]{0,63}$", value))
    ])
    error_message = "Labels have up to 63 of a-z, 0-9, _ and -; a key begins with a letter."
  }
}

variable "bucket" {
  description = "Name of the bucket to make for datasets, runs and models. null: PROJECT-NAME."
  type        = string
  default     = null

  validation {
    condition     = var.bucket == null || can(regex("^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "bucket is a name without gs://."
  }
}

variable "temporary_days" {
  description = "Days after which Dataflow's temporary files and uploaded sources are deleted."
  type        = number
  default     = 14

  validation {
    condition     = var.temporary_days >= 1 && floor(var.temporary_days) == var.temporary_days
    error_message = "temporary_days is a whole number of days, at least 1."
  }
}

variable "dataset" {
  description = "BigQuery dataset to make for snapshots, baselines' models and predictions."
  type        = string
  default     = "trellis"

  validation {
    condition     = can(regex("^[A-Za-z0-9_]+$", var.dataset))
    error_message = "dataset has letters, digits and _ only."
  }
}

variable "location" {
  description = "BigQuery location of the dataset, and of all tables that experiments read. null: the region."
  type        = string
  default     = null

  validation {
    condition     = !var.encryption || var.location == null || var.location == var.region
    error_message = "One key cannot encrypt a dataset elsewhere than in its region: leave location out, or encryption."
  }

  validation {
    condition = var.location == null || var.location == var.region || var.location == "US" || (
      var.location == "EU" && startswith(var.region, "europe-")
      && !contains(["europe-west2", "europe-west6"], var.region)
    )
    error_message = "BigQuery exports to a bucket beside its dataset only: the region, US, or EU for a region in the EU."
  }
}

variable "source_datasets" {
  description = "BigQuery datasets that experiments read, as PROJECT.DATASET."
  type        = set(string)
  default     = []

  validation {
    condition = alltrue([
      for name in var.source_datasets : can(regex("^[a-z][a-z0-9-]+[.][A-Za-z0-9_]+$", name))
    ])
    error_message = "source_datasets are PROJECT.DATASET."
  }
}

variable "source_buckets" {
  description = "Buckets that hold images or manifests of experiments, without gs://."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for name in var.source_buckets : !strcontains(name, "/")])
    error_message = "source_buckets are names, without gs:// and folders."
  }
}

variable "encryption" {
  description = "Whether to encrypt everything with a key of the group (CMEK). Composer's environment cannot change it later."
  type        = bool
  default     = false
}

variable "private_network" {
  description = "Whether jobs and Composer run in a VPC network of their own, without public addresses. Terraform cannot detach it again."
  type        = bool
  default     = true
}

variable "outgoing" {
  description = "Whether Airflow reaches addresses outside Google from the private network (Cloud NAT): Slack, webhooks."
  type        = bool
  default     = true
}

variable "subnet_range" {
  description = "Addresses of the network's one subnet: Dataflow's workers, Composer, private endpoints."
  type        = string
  default     = "10.20.0.0/20"

  validation {
    condition     = can(cidrnetmask(var.subnet_range))
    error_message = "subnet_range is an IPv4 range, such as 10.20.0.0/20."
  }
}

variable "private_endpoints" {
  description = "Whether experiments may serve models inside the network (deploy.private), by Private Service Connect."
  type        = bool
  default     = false

  validation {
    condition     = !var.private_endpoints || var.private_network
    error_message = "private_endpoints needs private_network: Airflow asks the endpoint from inside it."
  }
}

variable "image_version" {
  description = "Composer's image: its Airflow must be 3.3.1 or later, and its build pinned."
  type        = string
  default     = "composer-3-airflow-3.3.1-build.0"

  validation {
    condition = can(regex(
      "^composer-3-airflow-3[.](3[.][1-9][0-9]*|([4-9]|[1-9][0-9])[.][0-9]+)-build[.][0-9]+$",
      var.image_version
    ))
    error_message = "image_version is composer-3-airflow-3.3.1-build.0 or later, with its build: Trellis needs Airflow 3.3.1."
  }
}

variable "maintenance_window" {
  description = "When Google may restart Airflow's processes for maintenance: days, start (UTC) and hours. null: Google's own, Friday to Sunday 00:00 to 04:00."
  type = object({
    days  = list(string)
    start = string
    hours = number
  })
  default = null

  validation {
    condition = var.maintenance_window == null || (
      length(setsubtract(try(var.maintenance_window.days, []), ["MO", "TU", "WE", "TH", "FR", "SA", "SU"])) == 0 &&
      can(regex("^([01][0-9]|2[0-3]):[0-5][0-9]$", try(var.maintenance_window.start, "")))
    )
    error_message = "maintenance_window has days (MO, TU, WE, TH, FR, SA, SU) and a start in UTC (01:00)."
  }

  # https://docs.cloud.google.com/composer/docs/composer-3/specify-maintenance-windows
  validation {
    condition = var.maintenance_window == null || try(
      var.maintenance_window.hours >= 4 && var.maintenance_window.hours <= 24 && floor(var.maintenance_window.hours) == var.maintenance_window.hours &&
      var.maintenance_window.hours * length(distinct(var.maintenance_window.days)) >= 12, false
    )
    error_message = "maintenance_window has 4 to 24 whole hours a day, and at least 12 a week: Composer accepts no less."
  }
}

variable "environment_size" {
  description = "Size of Composer's database and web server."
  type        = string
  default     = "ENVIRONMENT_SIZE_SMALL"

  validation {
    condition = contains(
      ["ENVIRONMENT_SIZE_SMALL", "ENVIRONMENT_SIZE_MEDIUM", "ENVIRONMENT_SIZE_LARGE", "ENVIRONMENT_SIZE_EXTRA_LARGE"],
      var.environment_size
    )
    error_message = "environment_size is ENVIRONMENT_SIZE_SMALL, _MEDIUM, _LARGE or _EXTRA_LARGE."
  }
}

variable "triggerers" {
  description = "Airflow triggerers. All waiting happens there: without one, no run goes on. 2: one may fail."
  type        = number
  default     = 1

  validation {
    condition     = var.triggerers >= 1 && var.triggerers <= 10
    error_message = "triggerers is 1 to 10: every task of a run waits in a triggerer."
  }
}

variable "max_workers" {
  description = "Airflow workers at most. Workers submit jobs and look at results; they do not wait."
  type        = number
  default     = 3

  validation {
    condition     = var.max_workers >= 1 && var.max_workers <= 100
    error_message = "max_workers is 1 to 100."
  }
}

variable "platform_file" {
  description = "Which platform file, beside the DAG files, this environment reads (TRELLIS_PLATFORM)."
  type        = string
  default     = "platform.yaml"

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]+[.]yaml$", var.platform_file))
    error_message = "platform_file is a name that ends with .yaml, without a folder."
  }
}

variable "alert_emails" {
  description = "Recipients of all alerts: failed and late runs, Airflow, endpoints, the budget."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for address in var.alert_emails : strcontains(address, "@")])
    error_message = "alert_emails are e-mail addresses."
  }
}

variable "budget" {
  description = "Monthly budget of the project, with alerts at 50, 90 and 100 percent. It stops nothing. null: none."
  type = object({
    billing_account = string
    amount          = number
    currency        = optional(string, "USD")
  })
  default = null

  validation {
    condition = var.budget == null || (
      can(regex("^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$", try(var.budget.billing_account, ""))) &&
      try(var.budget.amount > 0 && floor(var.budget.amount) == var.budget.amount, false)
    )
    error_message = "budget has a billing_account (012345-6789AB-CDEF01) and a whole amount above 0."
  }
}
