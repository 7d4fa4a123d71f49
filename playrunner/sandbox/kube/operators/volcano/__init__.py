"""Volcano: jobs of several tasks, placed as a gang, through queues.

`spec` reads a job, `pods` and `plugins` make what belongs to it, `policies` says what an event
leads to, `progress` decides the next move, and `jobs` makes it. `queues` keeps queues and counts
what they hold, `gang` has what a pod group's status says, and `scheduler` places groups.
`lone_pods` gives a group to pods that come without one. `webhooks` is what its admission fills in
and refuses.
"""
