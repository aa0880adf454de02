"""The verifier on trial: random bytecode, and what is accepted of it runs in the instrumented interpreter."""
