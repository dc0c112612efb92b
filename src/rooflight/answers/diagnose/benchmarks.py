def benchmarks(files, at):
    return None
