"""train.check: judges a profile for an inventory's machines, without touching anything.

finding      one line of the judgement, and what settles it
machines     what the inventory says of the machines that train
settings     sizes, batches at every number of nodes, schedule, precision
memory       the estimate against the device's memory, and what would make it fit
data         what is read and where, and whether that can be looked at from here
judgement    all of it for one profile, as lines or JSON
"""
