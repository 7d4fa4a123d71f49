#!/usr/bin/python
DOCUMENTATION = '''
module: note
short_description: writes a note
options: {}
'''
import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.acme.tools.plugins.module_utils.old_paths import full

from ..module_utils import deeper


def main():
    module = AnsibleModule(
        argument_spec=dict(folder=dict(type='path', required=True), name=dict(required=True), text=dict(default='empty'), mode=dict(type='raw')),
        add_file_common_args=True,
        supports_check_mode=True,
    )
    path = full(module.params['folder'], module.params['name'])
    before = open(path).read() if os.path.exists(path) else None
    changed = before != module.params['text']
    if changed and not module.check_mode:
        with open(path, 'w') as file:
            file.write(module.params['text'])
    if os.path.exists(path):
        changed = module.set_fs_attributes_if_different(module.load_file_common_arguments(module.params, path=path), changed)
    module.exit_json(changed=changed, suffix=deeper.suffix(), name=os.path.basename(path))


if __name__ == '__main__':
    main()
