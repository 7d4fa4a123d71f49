"""EC2 of the pretend AWS."""
