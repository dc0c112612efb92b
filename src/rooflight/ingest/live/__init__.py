"""Monitoring that is read over HTTP: a /metrics address, and what a Prometheus server keeps."""
