"""Random legal pipelines, run in random ways and compared with a plain model. See README.md."""
