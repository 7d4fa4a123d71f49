"""When and whether a step runs: blocks, includes, files it waits for, steps that may fail."""
