"""The group's endpoints: what they cost a day, and whether anybody asks them.

monitoring.py  what Cloud Monitoring has counted
state.py       what an endpoint is, and whether it is idle: pure functions
survey.py      all endpoints of a group, from Vertex AI and Cloud Monitoring
"""
