"""Exit statuses beside those of the contract (errors.RooflightError)."""

INTERRUPTED = 130  # 128 + SIGINT
TERMINATED = 143  # 128 + SIGTERM
BROKEN_PIPE = 141  # 128 + SIGPIPE
BUG = 70  # sysexits.h: internal software error
