"""What all tests share: the profile `fast` of Hypothesis."""

from effort import register

register()
