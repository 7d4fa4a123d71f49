"""Leftovers in Google Cloud: the same search and removal as in AWS, over other kinds of resources.

stacks.py   whose a resource is, by its labels, its cluster or its name
find.py     everything of a stack
kind.py     what is known of a kind
kinds.py    all kinds, in order of removal
clusters.py  disks.py  balancers.py  stores.py    the kinds by service
"""
