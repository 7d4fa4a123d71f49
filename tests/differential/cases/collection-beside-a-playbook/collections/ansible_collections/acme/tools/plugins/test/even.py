class TestModule(object):
    def tests(self):
        return {'even': lambda number: number % 2 == 0}
