#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec=dict(text=dict(), path=dict(type='path'), from_action=dict()), supports_check_mode=True)
    module.exit_json(changed=False, text=module.params['text'], from_action=module.params['from_action'])


if __name__ == '__main__':
    main()
