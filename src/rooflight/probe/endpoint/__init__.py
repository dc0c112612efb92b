"""A serving endpoint, driven by requests: what came back, and when. Nothing here predicts."""
