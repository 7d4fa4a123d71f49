"""What the sandbox's HTTP servers share."""
