#!/usr/bin/python


def main():
    module = AnsibleModule(argument_spec=dict(a=dict(), b=dict(type='list', elements='int')))
    module.exit_json(changed=False, total=sum(module.params['b']))


#<<INCLUDE_ANSIBLE_MODULE_COMMON>>
main()
