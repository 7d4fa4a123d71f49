"""The doctor: whether this machine and the jump host have what the roles of an inventory need, and
how to mend what is missing.

purposes (what roles are for) -> examine (all checks) -> probe (a machine, here or over SSH), tools,
packages, logins, files finding (one line)  remedies (what --fix may do)  table (how it is told)
"""
