"""What every controller is built on: client, queue, view."""
