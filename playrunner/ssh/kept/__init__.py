"""Connections that stay open between commands: a process of the same user holds them."""
