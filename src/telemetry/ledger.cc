#include "forebay/ledger.h"

#include <numeric>

namespace forebay {

uint64_t Histogram::count() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

namespace {

/// Passes figures to a visitor. The functions below emit one structure each, one line for each
/// figure.
class FigureEmitter {
 public:
  explicit FigureEmitter(LedgerVisitor& to) : to_(to) {}

  void label(std::string_view name, const std::string& value, std::string_view help) {
    // Metrics use labels to distinguish the elements of a list, and ignore other texts.
    to_.text({name, FigureKind::kLabel, "", help}, value);
  }
  void text(std::string_view name, const std::string& value, std::string_view help) {
    to_.text({name, FigureKind::kText, "", help}, value);
  }
  template <typename T>
  void counter(std::string_view name, T value, std::string_view help, std::string_view unit = "") {
    number({name, FigureKind::kCounter, unit, help}, value);
  }
  template <typename T>
  void gauge(std::string_view name, T value, std::string_view help, std::string_view unit = "") {
    number({name, FigureKind::kGauge, unit, help}, value);
  }
  void seconds(std::string_view name, double value, std::string_view help) { counter(name, value, help, "seconds"); }
  template <typename T>
  void note(std::string_view name, T value, std::string_view help, std::string_view unit = "") {
    number({name, FigureKind::kNote, unit, help}, value);
  }
  void estimate(std::string_view name, double value, std::string_view help, std::string_view unit) {
    number({name, FigureKind::kEstimate, unit, help}, value);
  }
  void tally(std::string_view name, const std::map<uint32_t, int64_t>& value, std::string_view help) {
    to_.tally({name, FigureKind::kTally, "", help}, value);
  }
  void histogram(std::string_view name, const Histogram& value, std::string_view help, std::string_view unit) {
    to_.histogram({name, FigureKind::kHistogram, unit, help}, value);
  }
  template <typename T, typename Emit>
  void list(const FigureGroup& group, const std::vector<T>& values, Emit emit) {
    to_.begin(group);
    for (const T& value : values) {
      to_.begin_item();
      emit(*this, value);
      to_.end_item();
    }
    to_.end(group);
  }
  template <typename Emit>
  void group(std::string_view name, std::string_view help, Emit emit) {
    const FigureGroup group{name, "", help};
    to_.begin(group);
    emit();
    to_.end(group);
  }

 private:
  void number(const Figure& figure, uint64_t value) { to_.number(figure, value); }
  void number(const Figure& figure, int64_t value) { to_.number(figure, value); }
  // Visitors accept 64-bit numbers only.
  void number(const Figure& figure, int value) { to_.number(figure, static_cast<int64_t>(value)); }
  void number(const Figure& figure, double value) { to_.number(figure, value); }

  LedgerVisitor& to_;
};

void emit_step(FigureEmitter& to, const StepStats& step) {
  to.label("name", step.name, "the operator; `fetch`, `decode` and `batch` are the engine's own");
  to.counter("samples", step.samples, "samples that it worked on");
  to.counter("bytes_in", step.bytes_in, "bytes of its input", "bytes");
  to.counter("bytes_out", step.bytes_out, "bytes of its output", "bytes");
  to.estimate("busy_seconds", step.busy_seconds,
              "CPU time on compute threads; exact in sum, divided among the operators of a row by one row in eight",
              "seconds");
  to.gauge(
      "busy_uncertainty_seconds", step.busy_uncertainty_seconds,
      "half-width of the 95 % confidence interval of busy_seconds, from the spread of the sampled rows of this run",
      "seconds");
  to.counter("waiting_seconds", step.waiting_seconds,
             "waiting for storage or user code, summed over requests and calls", "seconds");
}

void emit_part(FigureEmitter& to, const PartStats& part) {
  to.label("name", part.name, "the part; `web/en` for a part of a part");
  to.counter("samples", part.samples, "samples delivered, without repeats");
  to.gauge("passes", part.passes, "passes over its samples that are complete, since the beginning of training");
  to.counter("bytes", part.bytes, "bytes of its rows in batches", "bytes");
  to.counter("waiting_seconds", part.waiting_seconds,
             "waiting for storage or user code, summed over requests and calls", "seconds");
}

void emit_requests(FigureEmitter& to, const StoreStats& store) {
  to.counter("requests", store.requests, "requests to the store: reads, listings and heads");
  to.counter("warm_reads", store.immediate, "reads that were answered at once, from memory or the page cache");
  to.counter("cold_reads", store.waited, "all other reads");
  to.counter("listings", store.listings, "pages of listings");
  to.counter("heads", store.heads, "requests for the size or version of one object (`HEAD`, `stat`)");
  to.counter("opens", store.opens, "files opened for reading; 0 for stores without files");
  to.counter("bytes", store.bytes, "bytes that reads returned", "bytes");
  to.counter("errors", store.errors, "requests that failed, after all attempts");
  to.gauge("in_flight", store.in_flight, "requests in flight");
}

void emit_attempts(FigureEmitter& to, const StoreStats& store) {
  to.counter("attempts", store.attempts, "requests sent over the network; 0 for stores without one");
  to.counter("retries", store.retries, "attempts after a failed one");
  to.counter("throttled", store.throttled, "answers that asked for fewer requests (503, 429)");
  to.counter("timeouts", store.timeouts, "attempts that waited too long");
  to.counter("hedges", store.hedges, "second attempts while the first was slow");
  to.counter("hedges_won", store.hedges_won, "hedges that were answered first");
}

void emit_store(FigureEmitter& to, const StoreStats& store) {
  to.label("name", store.name,
           "scheme and place: `s3://bucket/`, the folder of a cache; `files` for local paths, `http` for a list of "
           "addresses");
  emit_requests(to, store);
  emit_attempts(to, store);
  to.counter("seconds", store.seconds, "time from request to answer, summed over requests that had to wait", "seconds");
  to.histogram("read_bytes", store.read_bytes, "sizes of successful reads", "bytes");
  to.histogram("latency_seconds", store.latency_seconds, "time from request to answer, of requests that had to wait",
               "seconds");
}

void emit_tier(FigureEmitter& to, const TierStats& tier) {
  to.counter("hits", tier.hits, "entries found");
  to.gauge("entries", tier.entries, "entries in the tier");
  to.gauge("bytes", tier.bytes, "size of its entries", "bytes");
  to.gauge("budget_bytes", tier.budget_bytes, "limit of the size of its entries; 0: the tier is off", "bytes");
  to.counter("declined", tier.declined, "entries that did not fit");
  to.counter("damaged", tier.damaged, "entries found damaged; they were computed again");
  to.text("off", tier.off, "reason why a requested tier is off");
}

void emit_cache(FigureEmitter& to, const CacheStats& cache) {
  to.label("place", cache.place, "identifies the cached steps and data: 32 hexadecimal digits");
  to.text("description", cache.description, "the steps whose results are cached");
  to.group("ram", "in memory", [&] { emit_tier(to, cache.ram); });
  to.group("disk", "on disk", [&] { emit_tier(to, cache.disk); });
  to.counter("misses", cache.misses, "requested entries that no tier of this host had");
  to.counter("peer_hits", cache.peer_hits, "misses that another host of the job had");
  to.gauge("index_bytes", cache.index_bytes, "memory of the index of entries on disk", "bytes");
  to.gauge("seen_bytes", cache.seen_bytes,
           "size of all different entries that were requested (estimated beyond some thousands)", "bytes");
  to.gauge("hit_ratio", cache.hit_ratio, "hits of all tiers ÷ requested entries, since it was opened", "ratio");
  to.gauge("optimum", cache.optimum, "best ratio that the budgets allow if all entries are read in turn", "ratio");
}

void emit_memory(FigureEmitter& to, const Ledger& ledger) {
  const auto gauge = [&](std::string_view name, uint64_t value, std::string_view help) {
    to.gauge(name, value, help, "bytes");
  };
  gauge("budget", ledger.memory_budget, "current limit");
  gauge("used", ledger.memory_used, "memory in use, in all");
  gauge("peak", ledger.memory_peak, "largest memory in use");
  gauge("batches", ledger.memory_batches, "batches that are being made");
  gauge("fetched", ledger.memory_fetched, "stored bytes that are being read or not yet decoded");
  gauge("working", ledger.memory_working, "working memory of operators");
  gauge("pool", ledger.memory_pool, "idle memory of batches, to be used again");
  gauge("chunks", ledger.memory_chunks, "decoded row groups");
  gauge("index", ledger.memory_index, "indices of the data set and of caches on disk");
  gauge(
      "caches", ledger.memory_caches,
      "entries of `.cache()` and `.rehearse(where=\"here\")` in memory; a cache is counted in full by each loader that "
      "uses it");
  gauge("reads", ledger.memory_reads,
        "idle memory of reads, to be used again; counted in full by each loader that uses it");
  gauge("columns", ledger.memory_columns,
        "idle memory of decoded columns; counted in full by each loader that uses it");
}

void emit_waits(FigureEmitter& to, const WaitStats& waits) {
  to.seconds("plan", waits.plan, "no element had started");
  to.seconds("arrival", waits.arrival, "a stream had too few records for it");
  to.seconds("memory", waits.memory, "it needed memory that others held");
  to.seconds("slot", waits.slot, "it needed a request slot of its store");
  to.seconds("storage", waits.storage, "its bytes were being read");
  to.seconds("thread", waits.thread, "it needed a compute thread");
  to.seconds("compute", waits.compute, "a compute thread worked on it");
  to.seconds("user", waits.user, "user code worked on it");
  to.seconds("assembly", waits.assembly, "all rows were ready and were assembled");
  to.seconds("interpreter", waits.interpreter, "the batch was ready, and another thread held Python's lock");
}

void emit_threads(FigureEmitter& to, const ThreadStats& threads) {
  to.seconds("rows", threads.rows, "reading from the page cache, operators, writing rows into their batch");
  to.seconds("row_groups", threads.row_groups, "decoding row groups of tables, and operators on them");
  to.seconds("assembly", threads.assembly, "assembling batches");
  to.seconds("plan", threads.plan, "computing which rows come next (for large batches; small ones count as engine)");
  to.seconds("engine", threads.engine, "the engine's own work: deciding what is next, waiting for its lock");
  to.seconds("idle", threads.idle, "no work for this loader");
}

void emit_thread_cpu(FigureEmitter& to, const ThreadCpuStats& threads) {
  to.seconds("rows", threads.rows, "of `thread_seconds.rows`");
  to.seconds("row_groups", threads.row_groups, "of `thread_seconds.row_groups`");
  to.seconds("assembly", threads.assembly, "of `thread_seconds.assembly`");
  to.seconds("plan", threads.plan, "of `thread_seconds.plan`");
  to.seconds("engine", threads.engine, "of `thread_seconds.engine`");
  to.seconds("idle", threads.idle, "threads between tasks: falling asleep, waking up, taking the next one");
}

void emit_tuning(FigureEmitter& to, const TuningStats& decision) {
  to.note("seconds", decision.seconds, "time of the decision, since the first batch was requested", "seconds");
  to.text("what", decision.what, "name of the option");
  to.note("from", decision.from, "old value");
  to.note("to", decision.to, "new value");
  to.text("reason", decision.reason, "reason");
}

void emit_chunks(FigureEmitter& to, const std::vector<uint32_t>& chunks) {
  std::map<uint32_t, int64_t> times;
  for (const uint32_t count : chunks) ++times[count];
  to.gauge("row_groups", uint64_t{chunks.size()}, "row groups of the data set");
  // Starts from a 64-bit value: the sum may exceed the 32 bits of its counts.
  to.counter("decoded", std::accumulate(chunks.begin(), chunks.end(), int64_t{0}), "row groups decoded");
  to.tally("decoded_times", times, "number of row groups by how often they were decoded");
}

void emit_partition(FigureEmitter& to, const PartitionStats& partition) {
  to.label("name", partition.name, "name of the partition");
  to.gauge("waiting", partition.waiting, "records that have arrived and are in no step yet");
  to.counter("dropped", partition.dropped,
             "records that the policy of the buffer dropped, since the stream's beginning");
}

void emit_stream(FigureEmitter& to, const StreamStats& stream) {
  to.counter("arrived", stream.arrived, "records that arrived, including those that another rank has read");
  to.counter("trimmed", stream.trimmed, "records that the log had forgotten before they were read");
  to.counter("missing", stream.missing,
             "records that had not arrived when they were needed, so that replayed samples took their place");
  to.counter("from_ranks", stream.from_ranks,
             "records of this rank's batches that another rank had read from the broker and sent");
  to.counter(
      "reread", stream.reread,
      "records that this rank read from the broker itself, because the rank that had read them did not send them");
  to.counter("old_lent", stream.old_lent, "replayed records that another rank holds and sent for steps of this one");
  to.counter("old_reread", stream.old_reread,
             "replayed records read again from the log, because the rank that holds them did not send them");
  to.counter("old_lost", stream.old_lost,
             "replayed records that no rank had any more, so that others took their place");
  to.counter("reconnects", stream.reconnects, "connections that were opened again");
  to.gauge("memory_bytes", stream.bytes, "size of the records in memory", "bytes");
  to.gauge("disk_bytes", stream.disk_bytes, "size of the records on disk, spilled or kept for replay", "bytes");
}

void emit_rehearsal(FigureEmitter& to, const RehearsalStats& rehearsal) {
  to.counter("hits", rehearsal.hits,
             "replayed samples whose row was stored, so that earlier steps did not run for them");
  to.counter("misses", rehearsal.misses, "replayed samples whose row was computed again");
  to.gauge("entries", rehearsal.entries, "stored rows");
  to.gauge("bytes", rehearsal.bytes, "size of the stored rows", "bytes");
  to.gauge("budget_bytes", rehearsal.budget_bytes, "limit of the size of the stored rows", "bytes");
}

}  // namespace

void visit(const Ledger& ledger, LedgerVisitor& visitor) {
  FigureEmitter to(visitor);
  to.gauge("version", kLedgerVersion, "version of these names, kinds and units; new ones do not raise it");
  to.list({"steps", "step", "operators, in the order of the work"}, ledger.steps, emit_step);
  if (!ledger.parts.empty())
    to.list({"parts", "part", "only for many data sets as one: each of them"}, ledger.parts, emit_part);
  to.list(
      {"stores", "store",
       "first that of the data set, then the disks of caches; each since it was opened, for all loaders that share it"},
      ledger.stores, emit_store);
  to.list({"caches", "cache", "one for each `.cache()`"}, ledger.caches, emit_cache);
  to.group("memory_bytes", "memory between storage and the user", [&] { emit_memory(to, ledger); });
  // Groups that do not apply are left out as a whole instead of being reported as zeros.
  if (!ledger.chunks.empty()) to.group("chunks", "only for tables", [&] { emit_chunks(to, ledger.chunks); });
  if (ledger.stream) {
    to.group("stream", "only for streams", [&] { emit_stream(to, *ledger.stream); });
    to.list({"partitions", "partition", "partitions of a stream"}, ledger.stream->partitions, emit_partition);
  }
  if (ledger.rehearsal)
    to.group("rehearsal",
             "only for `.rehearse(where=\"here\")`: stored results of earlier steps for samples of the replay buffer",
             [&] { emit_rehearsal(to, *ledger.rehearsal); });
  to.gauge("index_bytes", ledger.index_bytes,
           "index of the data set: keys and sizes, and the classes of a replay buffer", "bytes");
  to.gauge("threads", ledger.threads, "compute threads that may work for it at once");
  to.gauge("requests", ledger.requests, "requests that may be in flight now");
  to.counter("batches", ledger.batches, "batches delivered");
  to.counter("samples", ledger.samples, "samples delivered");
  to.counter("errors", ledger.errors, "bad samples that were skipped or replaced");
  to.counter("reclaimed", ledger.reclaimed,
             "elements whose memory was reclaimed for an older one, so that they were read again");
  to.counter("consumer_wait_seconds", ledger.consumer_wait_seconds, "time that the consumer waited for batches",
             "seconds");
  to.group("wait_seconds", "the same time, divided by what the oldest unfinished element waited for or was doing",
           [&] { emit_waits(to, ledger.waits); });
  to.group(
      "thread_seconds",
      "wall time of the compute threads that may work for it, divided by what they did: `threads` × `elapsed_seconds` "
      "if their number did not change",
      [&] { emit_threads(to, ledger.thread_time); });
  to.group(
      "thread_cpu_seconds",
      "CPU time of the same threads, in tasks that have ended: the rest of `thread_seconds` was spent waiting for a "
      "core, a lock or a mapped file",
      [&] { emit_thread_cpu(to, ledger.thread_cpu); });
  to.list({"tuning", "decision", "options that the engine chose and changed: the latest 64"}, ledger.tuning,
          emit_tuning);
  to.gauge("elapsed_seconds", ledger.elapsed_seconds, "time since the first batch was requested", "seconds");
}

}  // namespace forebay
