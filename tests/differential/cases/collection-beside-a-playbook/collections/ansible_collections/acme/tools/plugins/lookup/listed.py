DOCUMENTATION = '''
name: listed
short_description: lists
description: [lists]
options:
  _terms: {description: words, required: true}
  suffix: {description: added, type: str, default: none, vars: [{name: listed_suffix}]}
'''
from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        self.set_options(var_options=variables, direct=kwargs)
        return [term + '-' + self.get_option('suffix') for term in terms]
