"""Programs that the fuzzer runs in all engines beside the reference interpreter."""
