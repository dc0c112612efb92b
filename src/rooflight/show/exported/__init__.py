"""A diagnosis as metrics for Prometheus, with a dashboard and alert rules that ask for them."""
