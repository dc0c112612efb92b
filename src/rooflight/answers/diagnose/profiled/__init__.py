"""Kernels of a profile under the roof, and steps that it marks."""
