"""Programs with the flags, output and exit codes of Ansible's: playrunner-playbook, -inventory,
-ansible."""
