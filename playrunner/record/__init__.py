"""Run folders (the ledger), past runs, and the lock of an inventory."""
