"""Plugins and modules written for Ansible: those beside a playbook or in a role, and collections.

They are code of the playbook's author and run with the rights of this program. ansible-core is
loaded as an installed library when the first of them needs it; nothing here imports it before.
"""
