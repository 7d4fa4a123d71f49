"""Starting the pretend API, or a real one."""
