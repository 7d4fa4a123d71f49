#!/usr/bin/python
import os

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.wording import sentence


def main():
    module = AnsibleModule(
        argument_spec=dict(
            path=dict(type='path', required=True),
            text=dict(aliases=['words']),
            state=dict(choices=['present', 'absent'], default='present'),
            token=dict(no_log=True),
            count=dict(type='int', default=1),
        ),
        supports_check_mode=True,
        required_if=[('state', 'present', ['text'])],
    )
    path, there = module.params['path'], os.path.exists(module.params['path'])
    before = open(path).read() if there else ''
    if module.params['state'] == 'absent':
        if there and not module.check_mode:
            os.unlink(path)
        module.exit_json(changed=there, path=path)
    after = sentence(module.params['text']) * module.params['count']
    if before != after and not module.check_mode:
        with open(path, 'w') as file:
            file.write(after)
    module.exit_json(
        changed=before != after,
        diff=dict(before=before, after=after),
        stdout='one\ntwo',
        length=len(after),
        hidden=module.params['token'],
        ansible_facts=dict(stamped_length=len(after)),
    )


if __name__ == '__main__':
    main()
