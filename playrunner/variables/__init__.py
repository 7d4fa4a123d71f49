"""Which value a name has: precedence, scopes, templates and filters."""
