"""Cloud Monitoring: time series of what endpoints were asked, and of quotas in use.

service.py  its host
  app.py    projects.timeSeries.list
  query.py  checks a request: filter, interval, alignment
  series.py the time series of a request
"""
