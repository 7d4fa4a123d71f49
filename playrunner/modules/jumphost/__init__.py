"""Modules of the jump host: what is kept for it on this machine, and its folder on a host that was
there before."""
