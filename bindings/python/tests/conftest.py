"""What all tests need."""

import signal

# A shell's background jobs begin with SIGINT ignored. Python leaves that so, and what the tests start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
