"""Small stand-ins of the data sets that profiles read, in their formats, on a web server of this
machine: a rehearsal stages them as it would the real ones."""
