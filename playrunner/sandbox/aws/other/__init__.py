"""The other services of the pretend AWS."""
