from ansible.errors import AnsibleFilterError


def shouted(value, mark='!'):
    if not isinstance(value, str):
        raise AnsibleFilterError('only text can be shouted')
    return value.upper() + mark


def pairs(value):
    return ((key, value[key]) for key in sorted(value))


class FilterModule:
    def filters(self):
        return {'shouted': shouted, 'pairs': pairs, 'basename': lambda path: 'own:' + path}
