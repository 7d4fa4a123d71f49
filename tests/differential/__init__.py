"""The same playbooks run by ansible-core and by Playrunner; what they leave behind and count must
agree.

cases/NAME/play.yaml is run on two hosts that are sshd processes of this machine, each with a
`scratch` folder, which is the only place a case may touch: where a module would change the machine
itself, stand-in programs come first in the task's PATH. What Ansible made of a case is kept in
expected/NAME.json; `python -m tests.differential.record NAME` runs it again.

Modules of collections (authorized_key, mount, sysctl, modprobe) are not in ansible-core. To record
their cases, or to run them live (PLAYRUNNER_DIFFERENTIAL=live), install the package `ansible` of
the same ansible-core release anywhere and let PLAYRUNNER_ANSIBLE name its ansible-playbook. Live
runs without it skip these cases; recordings need no Ansible at all.
"""
