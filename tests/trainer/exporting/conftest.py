"""Shared by the export's tests."""

import hypothesis

# On a busy machine, how long an example took says nothing about the code.
hypothesis.settings.register_profile("exporting", deadline=None)
hypothesis.settings.load_profile("exporting")
