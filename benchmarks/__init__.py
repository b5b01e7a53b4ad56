"""One command per figure: `python -m benchmarks.<name>`. Nothing in kgroup imports this package."""
