"""How many examples a property is tried on: all of them, or a share where a quick answer is wanted."""

from __future__ import annotations

from hypothesis import settings

# `pytest --hypothesis-profile=fast`; Hypothesis takes 100 examples where no profile is named.
USUAL, FAST = 100, 20


def register() -> None:
    """Make the profiles known; a profile alone does not change the tests that say their own number.

    Neither has a deadline: on a busy machine a clock would fail what is right.
    """
    settings.register_profile("usual", settings.default, deadline=None)
    settings.register_profile("fast", settings.default, max_examples=FAST, deadline=None)
    settings.load_profile("usual")


def examples(count: int) -> int:
    """`count`, or in the profile `fast` a fifth of it."""
    return max(1, count * settings.default.max_examples // USUAL)
