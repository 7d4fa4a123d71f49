from ansible.module_utils.six import string_types

from .deeper import suffix


def full(folder, name):
    assert isinstance(name, string_types)
    return folder + '/' + name + suffix()
