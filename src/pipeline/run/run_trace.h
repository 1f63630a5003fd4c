#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/fetcher.h"
#include "pipeline/run/run_memory.h"
#include "pipeline/run/thread_time.h"
#include "pipeline/run/waits.h"
#include "pipeline/run/window_batch.h"
#include "telemetry/trace.h"

// The events that a run writes to its trace.

namespace forebay {

/// Arrows in the trace lead from the read of a task over its work to its batch, and from the reads
/// of a chunk to its decoding. The `trace_id` of an arrow is WindowBatch::order() of a task, or a
/// chunk number with this bit set.
constexpr uint64_t kChunkTraceId = uint64_t{1} << 61;
/// Bit set in the `trace_id` of work without a read before it. The arrow begins at the work.
constexpr uint64_t kUnreadTraceId = uint64_t{1} << 62;
inline uint64_t trace_id_of_chunk(size_t branch, size_t number) { return kChunkTraceId | branch << 40 | number; }

/// Implements Loader::begin_trace().
Status begin_trace(TraceSwitch& at, const std::string& path, uint64_t most_bytes);
Status end_trace(TraceSwitch& at);
/// Traces a read that has ended. Called before the run processes its result.
void trace_read(Trace& trace, const PendingRead& read, uint64_t trace_id, bool ok);
/// Traces the work of a compute thread. Called on that thread.
void trace_work(Trace& trace, Work what, uint64_t trace_id, int64_t begin_ns, int64_t end_ns);
/// Traces a call of user code that was answered.
void trace_user_call(Trace& trace, std::string_view name, uint64_t trace_id, int64_t begin_ns, int64_t end_ns);
/// Traces a batch that is delivered now.
void trace_batch(Trace& trace, const WindowBatch& batch, int64_t now_ns);

/// Traces the consumer's waits, memory use and reads in flight. The window owns it; the run's lock
/// guards it.
class ConsumerTrace {
 public:
  explicit ConsumerTrace(const TraceSwitch& trace) : trace_(trace) {}

  /// The consumer begins to wait, or the reason of its wait changes to `what`.
  void begin_wait(int64_t now_ns, Awaited what);
  void end_wait(int64_t now_ns);
  /// Traces memory use and reads in flight, at most once a millisecond.
  void sample(int64_t now_ns, const RunMemory& memory, const Fetcher& fetcher);

 private:
  void write_slice(int64_t now_ns);

  const TraceSwitch& trace_;
  bool waiting_ = false;
  Awaited what_ = Awaited::kPlan;
  int64_t since_ = 0, looked_ = 0;
};

}  // namespace forebay
