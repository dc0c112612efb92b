"""Deployments on a mix of requests: what each gives, which is best, and where two of them cross."""
