"""Google Cloud as modules use it, over plain REST: google-auth and requests, loaded with the first
call.

settings.py      project, zone and credentials, from the variables of an inventory
credentials.py   application-default ones, a service account's key, or impersonation
addresses.py     the address of each service
project.py       Project: one project for a whole run: a session, tokens, and shared reads
client.py        Gcp: a project as one step sees it; decides what may be repeated
problems.py      errors and what to do about them: no project, API disabled, quota, permission
marks.py         the owner tags as labels, which allow fewer characters than AWS's tags
"""
