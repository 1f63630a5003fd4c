"""What all benchmarks share: how a contestant is run, measured, held against the others, and reported.

| module | its concern |
|---|---|
| `command` | the arguments that benchmarks have in common, and their way from measuring to an exit code |
| `contestants` | which programs and loaders there are, with which Python each runs, and which are missing here |
| `rounds` | interleaved rounds, recorded as JSON lines |
| `runs` | one run: a process of its own, with a limit of time; what became of it |
| `measured` | the inside of that process: its job, the timed part, its record |
| `process_tree` | CPU seconds, memory and threads of a process and everything below it |
| `memory_sampler` | the peak of that memory, from outside |
| `quota` | a part of the cores for a process |
| `noise` | which machine this is, and what others took of it meanwhile |
| `summary` | median and spread; ratios round by round |
| `equality` | what a run failed, whether contestants delivered the same, and who is refused for it |
| `compared` | all of that for one benchmark: what its runs are called, their rates and costs, who is refused |
| `report` | the Markdown around a benchmark's own table |

`measured`, `process_tree` and `noise` run with the Pythons of rivals too: the standard library only.
"""
