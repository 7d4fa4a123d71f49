"""`make soak`: plays, launches and clouds under random faults, with invariants after each."""
