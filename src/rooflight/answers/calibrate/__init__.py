"""Your own calibration: measured rows of a deployment, and what they make of what is expected there."""
