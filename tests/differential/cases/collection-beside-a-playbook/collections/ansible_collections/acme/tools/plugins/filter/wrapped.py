class FilterModule(object):
    def filters(self):
        return {'wrapped': lambda text, left='<', right='>': left + text + right}
