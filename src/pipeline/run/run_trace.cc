#include "pipeline/run/run_trace.h"

#include <utility>

#include "base/clock.h"
#include "pipeline/trace_rows.h"

namespace forebay {

namespace {

constexpr int64_t kLookNs = 1'000'000;  // shorter intervals would fill most of the file
constexpr int kTaskBits = 24;           // see WindowBatch::order()
constexpr Trace::Row kConsumerRow{kTraceConsumer, 1};

std::string_view title_of(Work what) {
  switch (what) {
    case Work::kRows: return "rows";
    case Work::kChunks: return "row group";
    case Work::kAssembly: return "assembly";
    case Work::kPlan: return "plan";
    case Work::kEngine: break;
  }
  return "engine";
}

int64_t batch_of(uint64_t trace_id) { return static_cast<int64_t>((trace_id & ~kUnreadTraceId) >> kTaskBits); }
int64_t task_of(uint64_t trace_id) { return static_cast<int64_t>(trace_id & ((uint64_t{1} << kTaskBits) - 1)); }

void name_groups(Trace& trace) {
  trace.name(kTraceConsumer, "consumer");
  trace.name(kConsumerRow, "waits for");
  trace.name(kTraceBatches, "batches, from begun to delivered");
  trace.name(kTraceThreads, "compute threads");
  trace.name(kTraceUser, "user code, from asked to answered");
  trace.name(kTraceReads, "reads");
}

}  // namespace

Status begin_trace(TraceSwitch& at, const std::string& path, uint64_t most_bytes) {
  const auto taken = [] { return invalid_argument("this loader is traced already; end that trace first"); };
  if (at.on()) return taken();  // before the file is truncated, since both may be the same
  FOREBAY_ASSIGN(std::shared_ptr<Trace> trace, Trace::create(path, most_bytes));
  name_groups(*trace);
  return at.turn_on(std::move(trace)) ? Status() : taken();
}

Status end_trace(TraceSwitch& at) {
  const std::shared_ptr<Trace> trace = at.turn_off();
  return trace ? trace->finish() : Status();
}

void trace_read(Trace& trace, const PendingRead& read, uint64_t trace_id, bool ok) {
  const int64_t now_ns = monotonic_ns();
  const ReadRequest& request = read.request();
  const Trace::Row row = trace.lane(kTraceReads, "read", read.begun_ns(), now_ns);
  const int64_t bytes = request.range           ? static_cast<int64_t>(request.range->length)
                        : request.expected_size ? static_cast<int64_t>(*request.expected_size)
                                                : -1;
  trace.slice(row, ok ? "read" : "read failed", read.begun_ns(), now_ns, {{"object", request.key}, {"bytes", bytes}});
  trace.flow(Trace::Flow::kBegin, trace_id, row, read.begun_ns());
}

void trace_work(Trace& trace, Work what, uint64_t trace_id, int64_t begin_ns, int64_t end_ns) {
  const Trace::Row row = trace_row_of_this_thread(trace);
  switch (what) {
    case Work::kRows:
      trace.slice(row, title_of(what), begin_ns, end_ns, {{"batch", batch_of(trace_id)}, {"task", task_of(trace_id)}});
      return trace.flow((trace_id & kUnreadTraceId) != 0 ? Trace::Flow::kBegin : Trace::Flow::kStep,
                        trace_id & ~kUnreadTraceId, row, begin_ns);
    case Work::kChunks:
      trace.slice(row, title_of(what), begin_ns, end_ns,
                  {{"row group", static_cast<int64_t>(trace_id & ~kChunkTraceId)}});
      return trace.flow(Trace::Flow::kEnd, trace_id, row, begin_ns);
    case Work::kAssembly: return trace.slice(row, title_of(what), begin_ns, end_ns, {{"batch", batch_of(trace_id)}});
    default: return trace.slice(row, title_of(what), begin_ns, end_ns);
  }
}

void trace_user_call(Trace& trace, std::string_view name, uint64_t trace_id, int64_t begin_ns, int64_t end_ns) {
  const Trace::Row row = trace.lane(kTraceUser, "call", begin_ns, end_ns);
  trace.slice(row, name, begin_ns, end_ns, {{"batch", batch_of(trace_id)}, {"task", task_of(trace_id)}});
  trace.flow(Trace::Flow::kStep, trace_id, row, begin_ns);
}

void trace_batch(Trace& trace, const WindowBatch& batch, int64_t now_ns) {
  const Trace::Row row = trace.lane(kTraceBatches, "batch", batch.begun_ns, now_ns);
  trace.slice(
      row, "batch", batch.begun_ns, now_ns,
      {{"batch", static_cast<int64_t>(batch.sequence)}, {"epoch", batch.job.step().at.epoch}, {"rows", batch.size()}});
  for (size_t task = 0; task < batch.tasks.size(); ++task)
    trace.flow(Trace::Flow::kEnd, batch.order(task), row, now_ns - 1);
}

void ConsumerTrace::begin_wait(int64_t now_ns, Awaited what) {
  if (waiting_ && what == what_) return;
  write_slice(now_ns);
  waiting_ = true;
  what_ = what;
  since_ = now_ns;
}

void ConsumerTrace::end_wait(int64_t now_ns) {
  write_slice(now_ns);
  waiting_ = false;
}

void ConsumerTrace::write_slice(int64_t now_ns) {
  if (!waiting_) return;
  if (const auto trace = trace_.get()) trace->slice(kConsumerRow, name_of(what_), since_, now_ns);
}

void ConsumerTrace::sample(int64_t now_ns, const RunMemory& memory, const Fetcher& fetcher) {
  const auto trace = trace_.get();
  if (!trace || now_ns - looked_ < kLookNs) return;
  looked_ = now_ns;
  const auto now = memory.snapshot();
  const auto used = [&](Use use) { return static_cast<int64_t>(now.of(use)); };
  trace->counter(kTraceReads, "reads in flight", now_ns, {{"reads", int64_t{fetcher.in_flight()}}});
  trace->counter(kTraceBatches, "memory (bytes)", now_ns,
                 {{"batches", used(Use::kBatches)},
                  {"fetched", used(Use::kFetched)},
                  {"working", used(Use::kWorking)},
                  {"row groups", used(Use::kChunks)},
                  {"pool", used(Use::kPool)},
                  {"caches", used(Use::kCaches)},
                  {"others", used(Use::kIndex) + used(Use::kReads) + used(Use::kColumns)}});
}

}  // namespace forebay
