"""What gcp.preflight looks at before anything is made."""
