#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule

AnsibleModule(argument_spec={})
raise ValueError('broken inside')
