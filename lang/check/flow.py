class Flow:
    def __init__(self, program, diagnostics): pass
    def run(self): pass
