class FilterModule:
    def filters(self):
        return {'bracketed': lambda text: '[' + text + ']'}
