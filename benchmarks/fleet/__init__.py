"""Hundreds of SSH hosts in one process, and what our runner costs on 1 to 1,000 of them."""
