"""The doctor: checks that this machine and the jump host have what the roles of an inventory need,
and says how to fix what is missing.

purposes (what roles need) -> examine (all checks) -> probe (a machine, here or over SSH), tools,
packages, logins, files; finding (one line), remedies (what --fix does), table (printing)
"""
