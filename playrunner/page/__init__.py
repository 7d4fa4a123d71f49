"""A page in the browser for what is recorded on this machine, and reports as one HTML file.

verbs       the commands: `page`, `runs.report`, `train.report`
server      listens on loopback, prints the link
access      who is let in: the link's token, the cookie, the Host header
app         addresses and what answers them
records/    readers: runs, their steps, training runs, curves, logs
"""
