#!/usr/bin/python
from ansible.module_utils import role_part
from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec=dict(x=dict(type='int')), supports_check_mode=True)
    module.exit_json(changed=False, doubled=role_part.doubled(module.params['x']))


main()
