"""The parts of a project, each looked at by itself: one that is broken hides no other."""
