#!/usr/bin/python
from ansible.module_utils.basic import *


def main():
    module = AnsibleModule(argument_spec=dict(fail=dict(type='bool', default=False)))
    if module.params['fail']:
        module.fail_json(msg='failed on purpose', reason=['a', 'b'])
    rc, out, err = module.run_command(['sh', '-c', 'echo out; echo err >&2; exit 3'])
    module.exit_json(changed=True, code=rc, out=out, err=err)


main()
