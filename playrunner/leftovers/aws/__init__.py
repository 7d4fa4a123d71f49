"""What a teardown may leave behind in AWS, service by service."""
