class FilterModule:
    def filters(self):
        return {"loud": lambda text: text.upper()}
