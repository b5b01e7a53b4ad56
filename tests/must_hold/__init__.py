"""Whether the tests of docs/must_hold.md notice when a statement is false: `python -m tests.must_hold`."""
