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

locals {
  airflow_ui = google_composer_environment.airflow.config[0].airflow_uri

  # Log entries that begin with these words: a task that failed for good, a run behind its deadline, data or
  # predictions beyond a limit of `changes`. Each says what to do.
  messages = {
    failure = { words = "TRELLIS FAILURE", title = "a run has failed", severity = "ERROR" }
    late    = { words = "TRELLIS LATE", title = "a run is late", severity = "WARNING" }
    warning = { words = "TRELLIS WARNING", title = "data or predictions have drifted", severity = "WARNING" }
  }

  environment = "resource.type=\"cloud_composer_environment\" AND resource.labels.environment_name=\"${var.name}\""
  endpoints   = "resource.type=\"aiplatform.googleapis.com/Endpoint\" AND resource.labels.location=\"${var.region}\""

  # What no run can report about itself. Aligned every 5 minutes; `minutes` is how long it must last.
  # https://docs.cloud.google.com/monitoring/api/metrics_gcp_c#gcp-composer, ..._gcp_a_b#gcp-aiplatform
  thresholds = {
    import_errors = {
      title  = "a DAG file cannot be read"
      filter = "${local.environment} AND metric.type=\"composer.googleapis.com/environment/dag_processing/parse_error_count\""
      align  = "ALIGN_DELTA", reduce = "REDUCE_SUM", by = [], compare = "COMPARISON_GT", than = 0, minutes = 10
      help   = "Airflow's list of DAGs names the file and the line: ${local.airflow_ui}. `trellis check` says the same of a checkout. Other files go on."
    }
    triggerer = {
      title  = "no triggerer works"
      filter = "${local.environment} AND metric.type=\"composer.googleapis.com/environment/active_triggerers\""
      align  = "ALIGN_MEAN", reduce = "REDUCE_SUM", by = [], compare = "COMPARISON_LT", than = 1, minutes = 10
      help   = "Jobs go on, and no task learns that its job has ended. Restart it: `gcloud composer environments restart-triggerer` or the environment's page; then look at its memory, and at `triggerers` in terraform.tfvars."
    }
    environment = {
      title  = "the environment is not healthy"
      filter = "${local.environment} AND metric.type=\"composer.googleapis.com/environment/healthy\""
      align  = "ALIGN_FRACTION_TRUE", reduce = "REDUCE_MEAN", by = [], compare = "COMPARISON_LT", than = 0.5, minutes = 15
      help   = "Composer's own DAG `airflow_monitoring` does not get through: scheduler, database or workers. The environment's page has the part that fails, and its logs."
    }
    endpoint_errors = {
      title  = "an endpoint answers with errors"
      filter = "${local.endpoints} AND metric.type=\"aiplatform.googleapis.com/prediction/online/error_count\""
      align  = "ALIGN_DELTA", reduce = "REDUCE_SUM", by = ["resource.label.endpoint_id"], compare = "COMPARISON_GT", than = 10, minutes = 5
      help   = "`trellis endpoints` names the experiment of the endpoint's ID. Its log has each refused request with the reason. After a new deployment, the DAG `rollback` puts the version before it back."
    }
    endpoint_latency = {
      title  = "an endpoint is slow"
      filter = "${local.endpoints} AND metric.type=\"aiplatform.googleapis.com/prediction/online/prediction_latencies\""
      align  = "ALIGN_PERCENTILE_95", reduce = "REDUCE_MAX", by = ["resource.label.endpoint_id"], compare = "COMPARISON_GT", than = 5000, minutes = 15
      help   = "One request in twenty takes over 5 s. More replicas or a larger machine (`deploy` in the experiment's file); explanations take long by themselves."
    }
  }
}

resource "google_monitoring_alert_policy" "message" {
  for_each = local.messages

  display_name          = "${var.name}: ${each.value.title}"
  combiner              = "OR"
  severity              = each.value.severity
  notification_channels = local.channels
  user_labels           = var.labels

  conditions {
    display_name = "${each.value.words} in Airflow's logs"

    condition_matched_log {
      filter = join(" AND ", [
        local.environment,
        "(textPayload:\"${each.value.words}\" OR jsonPayload.message:\"${each.value.words}\")",
      ])
      # One alert for each DAG. The triggerer, which reports late runs, has no such label.
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
      The log entry names the DAG, the run, the cause, and what to do.
      The task's log in Airflow has more: ${local.airflow_ui}
    MD
  }
}

resource "google_monitoring_alert_policy" "threshold" {
  for_each = local.thresholds

  display_name          = "${var.name}: ${each.value.title}"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels
  user_labels           = var.labels

  conditions {
    display_name = each.value.title

    condition_threshold {
      filter          = each.value.filter
      comparison      = each.value.compare
      threshold_value = each.value.than
      duration        = "${each.value.minutes * 60}s"

      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = each.value.align
        cross_series_reducer = each.value.reduce
        group_by_fields      = each.value.by
      }
    }
  }

  alert_strategy {
    auto_close = "86400s"
  }

  documentation {
    mime_type = "text/markdown"
    content   = each.value.help
  }
}

# A DAG processor that is gone says nothing: the time that it takes for all files stops arriving.
resource "google_monitoring_alert_policy" "dag_processor" {
  display_name          = "${var.name}: no DAG processor works"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels
  user_labels           = var.labels

  conditions {
    display_name = "No DAG file was read for 30 minutes"

    condition_absent {
      filter   = "${local.environment} AND metric.type=\"composer.googleapis.com/environment/dag_processing/total_parse_time\""
      duration = "1800s"

      aggregations {
        alignment_period   = "300s"
        per_series_aligner = "ALIGN_MEAN"
      }
    }
  }

  alert_strategy {
    auto_close = "86400s"
  }

  documentation {
    mime_type = "text/markdown"
    content   = <<-MD
      Changes of DAG files and experiments are not seen, and DAGs disappear from Airflow after a while.
      The environment's page has the DAG processor's log and memory: ${local.airflow_ui}
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
