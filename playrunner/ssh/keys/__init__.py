"""Keys of hosts and of users: what is known, checked, trusted and offered."""
