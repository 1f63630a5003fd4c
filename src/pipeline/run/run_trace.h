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

// What a run tells a trace, while there is one.

namespace forebay {

/// Arrows lead from the read of a task by its work to its batch, and from the reads of a row group to its decoding. What an arrow is
/// about: WindowBatch::order() of a task, or this.
constexpr uint64_t kAboutChunk = uint64_t{1} << 61;
/// Set in what work is about where no read came before it: the arrow begins there.
constexpr uint64_t kAboutUnread = uint64_t{1} << 62;
inline uint64_t about_chunk(size_t number) { return kAboutChunk | number; }

/// Loader::begin_trace().
Status begin_trace(TraceSwitch& at, const std::string& path, uint64_t most_bytes);
Status end_trace(TraceSwitch& at);
/// A read that has landed. Before its batch hears of it.
void trace_read(Trace& trace, const Flight& flight, uint64_t about, bool ok);
/// What a compute thread did, on that thread.
void trace_spell(Trace& trace, Work what, uint64_t about, int64_t begin_ns, int64_t end_ns);
/// A call of user code that has come back.
void trace_user_call(Trace& trace, std::string_view name, uint64_t about, int64_t begin_ns, int64_t end_ns);
/// A batch that the consumer gets now.
void trace_batch(Trace& trace, const WindowBatch& batch, int64_t now_ns);

/// The consumer's waits and what memory and stores are up to, as they change. Guarded by the run's lock.
class ConsumerTrace {
 public:
  explicit ConsumerTrace(const TraceSwitch& trace) : trace_(trace) {}

  /// It begins to wait, goes on, or has something else to wait for.
  void waits(int64_t now_ns, Awaited what);
  void ends(int64_t now_ns);
  /// Now and then.
  void look(int64_t now_ns, const RunMemory& memory, const Fetcher& fetcher);

 private:
  void tell(int64_t now_ns);

  const TraceSwitch& trace_;
  bool waiting_ = false;
  Awaited what_ = Awaited::kPlan;
  int64_t since_ = 0, looked_ = 0;
};

}  // namespace forebay
