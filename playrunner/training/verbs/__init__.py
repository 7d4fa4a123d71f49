"""The verbs of the group `train`, by what a user does: start or stop runs, look at them, use a
cluster's own."""
