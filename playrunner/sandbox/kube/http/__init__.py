"""The API as an HTTP server."""
