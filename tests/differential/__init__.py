"""The same playbooks run by ansible-core and by Playrunner; what they leave behind and count must agree."""
