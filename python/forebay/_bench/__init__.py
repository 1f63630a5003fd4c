"""The part of `forebay bench --against` that runs other loaders. Nothing else imports it.

| module | its concern |
|---|---|
| `__main__` | the command line, rounds in rotating order, the printed result |
| `translate` | a pipeline's steps in Pillow and NumPy; which steps cannot be translated |
| `contender` | one loader in its own process: measured, or inspected |
| `forebay_loader`, `torch_loader` | the loaders, with one function each: `epochs(job)` |
| `equality` | whether two loaders delivered the same |
| `process_tree` | CPU seconds and memory of a process tree; also for the benchmarks in `bench/` |
"""
