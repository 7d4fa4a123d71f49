"""The parts of an inventory: the graph of groups and hosts, and one reader per way of writing it
down."""
