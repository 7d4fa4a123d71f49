from ansible.module_utils.common.text.converters import to_text


def sentence(text):
    return to_text(text).capitalize() + '.\n'
