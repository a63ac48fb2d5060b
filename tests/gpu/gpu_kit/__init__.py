"""What `run` does on a machine that has a GPU, with Python's standard library alone."""
