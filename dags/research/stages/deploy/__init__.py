"""deploy: the promoted training becomes a version of the experiment's model, and is served."""
