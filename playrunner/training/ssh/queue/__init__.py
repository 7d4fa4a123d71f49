"""`train.launch --queue`: launches that wait for free nodes, each with a process of its own."""
