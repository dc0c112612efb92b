"""Files that profilers, engines, monitoring and load generators wrote, each by a reader of its own.

`read.recorded` opens a file, finds out by its content whose it is, and returns a values.recorded.Recorded. A reader is
a module with one FORMAT, named in its group's FORMATS: bench, logs, monitoring, traces.
"""
