# Alerts, and who gets them.

resource "google_monitoring_notification_channel" "email" {
  for_each = var.alert_emails

  display_name = "Trellis: ${each.value}"
  type         = "email"
  labels       = { email_address = each.value }
  depends_on   = [google_project_service.api]
}

locals {
  channels = [for channel in google_monitoring_notification_channel.email : channel.id]
}

# A task that failed for good logs one entry that begins with these words.
resource "google_monitoring_alert_policy" "failure" {
  display_name          = "${var.name}: a run has failed"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels
  user_labels           = var.labels

  conditions {
    display_name = "TRELLIS FAILURE in Airflow's logs"

    condition_matched_log {
      filter = join(" AND ", [
        "resource.type=\"cloud_composer_environment\"",
        "resource.labels.environment_name=\"${var.name}\"",
        "(textPayload:\"TRELLIS FAILURE\" OR jsonPayload.message:\"TRELLIS FAILURE\")",
      ])
      # One alert for each DAG.
      label_extractors = { dag = "EXTRACT(labels.workflow)" }
    }
  }

  alert_strategy {
    auto_close = "86400s"
    notification_rate_limit {
      period = "3600s"
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = <<-MD
      The log entry names the DAG, the run, the task, the cause, and what to do.
      The task's log in Airflow has more: ${google_composer_environment.airflow.config[0].airflow_uri}
    MD
  }
}

# Alerts at 50, 90 and 100 percent of the budget, spent or forecast for the month.
resource "google_billing_budget" "project" {
  count = var.budget == null ? 0 : 1

  billing_account = var.budget.billing_account
  display_name    = "${var.name} in ${var.project}"

  budget_filter {
    projects = ["projects/${local.number}"]
  }

  amount {
    specified_amount {
      currency_code = var.budget.currency
      units         = tostring(var.budget.amount)
    }
  }

  dynamic "threshold_rules" {
    for_each = [0.5, 0.9, 1.0]
    content {
      threshold_percent = threshold_rules.value
    }
  }

  threshold_rules {
    threshold_percent = 1.0
    spend_basis       = "FORECASTED_SPEND"
  }

  dynamic "all_updates_rule" {
    for_each = length(local.channels) > 0 ? [1] : []
    content {
      monitoring_notification_channels = local.channels
    }
  }

  depends_on = [google_project_service.api]
}
