"""Following a run from the controller: its steps, its stalls, its end."""
