"""Running plays; in reading order: run, execute, batch, host_run, start_step, pending."""
