"""`python -m rooflight`: the command line."""

from __future__ import annotations

if __name__ == "__main__":
    try:
        import sys

        from rooflight.cli import main

        status = main()
    except KeyboardInterrupt:  # as early as that: nothing to clean up
        raise SystemExit(130) from None
    sys.exit(status)
