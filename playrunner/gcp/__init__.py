"""Google Cloud as modules use it, over plain REST: google-auth and requests, loaded with the first
call.

settings.py      which project and zone, and how to come in, from the variables of an inventory
credentials.py   application-default, a service account's file, or another account in its name
addresses.py     where each service listens
project.py       Project: one project for a whole run: a connection, tokens, and the reads that steps share
client.py        Gcp: a project as one step sees it; what may be repeated, and what is written down before it is done
problems.py      refusals in plain words: no project, an API that is off, no quota, no right
marks.py         the owner mark as labels, which take fewer letters than AWS's tags
"""
