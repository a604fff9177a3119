"""Independent diagnoses of the parts of a project: all run, also if one fails."""
