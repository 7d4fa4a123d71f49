def suffix():
    return '.note'
