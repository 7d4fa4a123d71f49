"""What each run did, kept in run folders, and the lock that makes runs of one inventory take turns."""
