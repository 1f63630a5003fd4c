"""The side of `forebay bench --against` that other loaders run on. Nothing else imports it.

| module | its concern |
|---|---|
| `__main__` | what was typed, rounds in turning order, what is printed |
| `translate` | what a pipeline asks for, step by step, in Pillow and NumPy; which steps cannot be translated |
| `contender` | one loader in a process of its own: measured, or looked at |
| `forebay_loader`, `torch_loader` | the loaders, behind one function each: `epochs(job)` |
| `equality` | whether two loaders delivered the same |
| `process_tree` | CPU seconds and memory of a process and everything below it; also of the benchmarks in `bench/` |
"""
