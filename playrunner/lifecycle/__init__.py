"""Status, deletion and teardown of what roles made."""
