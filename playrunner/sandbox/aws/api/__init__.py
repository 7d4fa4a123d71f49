"""The pretend AWS as an HTTP server: requests in, answers out, faults and tokens."""
