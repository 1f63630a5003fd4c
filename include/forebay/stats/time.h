#pragma once

namespace forebay {

/// Seconds that the consumer waited for a batch. Each moment is attributed to what the oldest
/// unfinished element of the batch waited for or was doing, so that the parts add up to the whole.
/// `interpreter` is the time in which the batch was ready, but the lock of the consumer's language
/// was not free.
struct WaitStats {
  double plan = 0, arrival = 0, memory = 0, slot = 0, storage = 0, thread = 0, compute = 0, user = 0, assembly = 0,
         interpreter = 0;
};

/// Wall time of the compute threads that may work for a loader at once, divided by what they did
/// for it. The parts add up to the whole. `idle` includes work for other loaders.
struct ThreadStats {
  double rows = 0, row_groups = 0, assembly = 0, plan = 0, engine = 0, idle = 0;
};

/// CPU time of the same threads, counted when a task ends. The difference to ThreadStats was spent
/// waiting for a core, a lock or a mapped file. `idle` is the time in which threads fall asleep,
/// wake up and take a task.
struct ThreadCpuStats {
  double rows = 0, row_groups = 0, assembly = 0, plan = 0, engine = 0, idle = 0;
};

}  // namespace forebay
