"""What the guides' jobs must look like, as tables: a row for every field, with the fact that wants
it so.

known (the facts, in words)  table (objects held against rows)  guides (the jobs)  profiles (what is
trained) shared_rows (those of all launchers)  elasticjob pytorchjob elastic_pytorchjob vcjob job (a
launcher's own; with deepspeedjob)

A row's third part names the fact, `6.3 queue`, and after "; ours:" why we do otherwise. What is
ours alone begins with "ours:".
"""
