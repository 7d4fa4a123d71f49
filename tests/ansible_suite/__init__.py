"""Ansible's own integration targets, run by ansible-core and by Playrunner (`make test-ansible`).

sources     downloads ansible-core's sdist and installs ansible-core, both outside of the repository
targets     the targets of the sdist: their kind, aliases, and why some cannot run on a machine
isolation   runs a command on a throwaway copy (overlay) of this machine's file system
call        stands for ansible-playbook in a target's script, and keeps a record of each call
score       runs a target with both programs and names the reason for what does not pass
reasons     what is behind a target that does not pass
public      public playbooks that both programs load
table       the part of docs/ansible-differences.md that is made of the results
"""
