from ansible.plugins.lookup import LookupBase


class LookupModule(LookupBase):
    def run(self, terms, variables=None, **kwargs):
        return ['%s %s%s' % (variables['greeting'], term, kwargs.get('end', '')) for term in terms]
