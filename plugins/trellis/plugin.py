"""What Airflow loads Trellis by: the entry point of the distribution, or trellis_plugin.py."""

from airflow.plugins_manager import AirflowPlugin

from trellis.schedules import CronUntilTimetable


class TrellisPlugin(AirflowPlugin):
    """Registers the timetable; without it no scheduler can load a DAG that has an `until`."""

    name = "trellis"
    timetables = [CronUntilTimetable]  # noqa: RUF012
