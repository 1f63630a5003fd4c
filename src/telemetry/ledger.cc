#include "forebay/ledger.h"

#include <numeric>

namespace forebay {

uint64_t Histogram::count() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

namespace {

/// Passes figures to a visitor, one line for each.
class Teller {
 public:
  explicit Teller(LedgerVisitor& to) : to_(to) {}

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
  template <typename T, typename Tell>
  void list(const FigureGroup& group, const std::vector<T>& values, Tell tell) {
    to_.begin(group);
    for (const T& value : values) {
      to_.begin_item();
      tell(*this, value);
      to_.end_item();
    }
    to_.end(group);
  }
  template <typename Tell>
  void group(std::string_view name, std::string_view help, Tell tell) {
    const FigureGroup group{name, "", help};
    to_.begin(group);
    tell();
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

void tell_step(Teller& to, const StepStats& step) {
  to.label("name", step.name, "the operator; `fetch`, `decode` and `batch` are the engine's own");
  to.counter("samples", step.samples, "samples that it worked on");
  to.counter("bytes_in", step.bytes_in, "what it was given", "bytes");
  to.counter("bytes_out", step.bytes_out, "what it made of that", "bytes");
  to.estimate("busy_seconds", step.busy_seconds,
              "CPU time on compute threads; exact in sum, divided among the operators of a row by one row in eight",
              "seconds");
  to.gauge("busy_uncertainty_seconds", step.busy_uncertainty_seconds,
           "how far off that may be, 95 of 100 times: from how the rows that were looked at differ, for this run; the "
           "same work may take other CPU time in another",
           "seconds");
  to.counter("waiting_seconds", step.waiting_seconds,
             "waiting for storage or user code, summed over requests and calls", "seconds");
}

void tell_requests(Teller& to, const StoreStats& store) {
  to.counter("requests", store.requests, "what the store was asked: reads, listings and heads");
  to.counter("warm_reads", store.immediate, "reads that were answered at once, out of memory or the page cache");
  to.counter("cold_reads", store.waited, "all other reads: somebody waited for them");
  to.counter("listings", store.listings, "pages of listings");
  to.counter("heads", store.heads, "questions about one object without its bytes (`HEAD`, `stat`)");
  to.counter("opens", store.opens, "files opened for reading; none where there are no files");
  to.counter("bytes", store.bytes, "what reads brought", "bytes");
  to.counter("errors", store.errors, "requests that failed, after all attempts");
  to.gauge("in_flight", store.in_flight, "requests that wait for their answer");
}

void tell_attempts(Teller& to, const StoreStats& store) {
  to.counter("attempts", store.attempts, "requests as they went over the wire; none where there is no wire");
  to.counter("retries", store.retries, "attempts after one that failed");
  to.counter("throttled", store.throttled, "answers that asked for fewer requests (503, 429)");
  to.counter("timeouts", store.timeouts, "attempts that waited too long");
  to.counter("hedges", store.hedges, "second attempts while the first was slow");
  to.counter("hedges_won", store.hedges_won, "of these, answered first");
}

void tell_store(Teller& to, const StoreStats& store) {
  to.label("name", store.name,
           "scheme and place: `s3://bucket/`, the folder of a cache; `files` for local paths, `http` for a list of "
           "addresses");
  tell_requests(to, store);
  tell_attempts(to, store);
  to.counter("seconds", store.seconds, "from asking to the answer, summed over requests that had to wait", "seconds");
  to.histogram("read_bytes", store.read_bytes, "sizes of reads that brought their bytes", "bytes");
  to.histogram("latency_seconds", store.latency_seconds, "from asking to the answer, of requests that had to wait",
               "seconds");
}

void tell_tier(Teller& to, const TierStats& tier) {
  to.counter("hits", tier.hits, "entries found");
  to.gauge("entries", tier.entries, "entries kept");
  to.gauge("bytes", tier.bytes, "of its entries", "bytes");
  to.gauge("budget_bytes", tier.budget_bytes, "what its entries may take; 0: the tier is off", "bytes");
  to.counter("declined", tier.declined, "entries offered for which there was no room");
  to.counter("damaged", tier.damaged, "entries found damaged; they were made anew");
  to.text("off", tier.off, "why a tier that was asked for is off");
}

void tell_cache(Teller& to, const CacheStats& cache) {
  to.label("place", cache.place, "identifies what is kept: 32 hexadecimal digits");
  to.text("description", cache.description, "of the steps whose results are kept");
  to.group("ram", "in memory", [&] { tell_tier(to, cache.ram); });
  to.group("disk", "on disk", [&] { tell_tier(to, cache.disk); });
  to.counter("misses", cache.misses, "entries asked for that no tier of this host had");
  to.counter("peer_hits", cache.peer_hits, "of these, entries that another host of the job had");
  to.gauge("index_bytes", cache.index_bytes, "memory that knows what is on disk", "bytes");
  to.gauge("seen_bytes", cache.seen_bytes,
           "all different entries that were asked for (estimated beyond some thousands)", "bytes");
  to.gauge("hit_ratio", cache.hit_ratio, "hits of all tiers ÷ what was asked for, since it was opened", "ratio");
  to.gauge("optimum", cache.optimum, "the best ratio that the budgets allow in a sweep over all entries", "ratio");
}

void tell_memory(Teller& to, const Ledger& ledger) {
  const auto gauge = [&](std::string_view name, uint64_t value, std::string_view help) {
    to.gauge(name, value, help, "bytes");
  };
  gauge("budget", ledger.memory_budget, "what it may hold now");
  gauge("used", ledger.memory_used, "what it holds, in all");
  gauge("peak", ledger.memory_peak, "the most that it held");
  gauge("batches", ledger.memory_batches, "batches that are being made");
  gauge("fetched", ledger.memory_fetched, "stored bytes, on their way or not yet decoded");
  gauge("working", ledger.memory_working, "what operators need while they work");
  gauge("pool", ledger.memory_pool, "idle memory, to be used again");
  gauge("chunks", ledger.memory_chunks, "decoded row groups");
  gauge("index", ledger.memory_index, "what the data set and caches on disk know of themselves");
  gauge(
      "caches", ledger.memory_caches,
      "what `.cache()` and `.rehearse(where=\"here\")` keep in memory; of a cache counted in full by each loader that "
      "uses it");
  gauge("reads", ledger.memory_reads,
        "idle memory of reads, to be used again; counted in full by each loader that uses it");
  gauge("columns", ledger.memory_columns,
        "idle memory of decoded columns; counted in full by each loader that uses it");
}

void tell_waits(Teller& to, const WaitStats& waits) {
  to.seconds("plan", waits.plan, "nothing had been begun");
  to.seconds("arrival", waits.arrival, "a stream had not given enough records for it");
  to.seconds("memory", waits.memory, "it needed bytes that others held");
  to.seconds("slot", waits.slot, "it needed a request slot of its store");
  to.seconds("storage", waits.storage, "its bytes were on their way");
  to.seconds("thread", waits.thread, "it needed a compute thread");
  to.seconds("compute", waits.compute, "a compute thread was at work on it");
  to.seconds("user", waits.user, "it was with user code");
  to.seconds("assembly", waits.assembly, "all rows were there: they were put together");
  to.seconds("interpreter", waits.interpreter, "the batch was there: another thread had Python's lock");
}

void tell_threads(Teller& to, const ThreadStats& threads) {
  to.seconds("rows", threads.rows, "reading what is at hand, operators, writing rows into their batch");
  to.seconds("row_groups", threads.row_groups, "decoding row groups of tables, and operators on them");
  to.seconds("assembly", threads.assembly, "putting batches together");
  to.seconds("plan", threads.plan, "finding out which rows come next (of large batches; of small ones, the engine's)");
  to.seconds("engine", threads.engine, "the engine's own: deciding what is next, waiting for its lock");
  to.seconds("idle", threads.idle, "nothing for this loader");
}

void tell_thread_cpu(Teller& to, const ThreadCpuStats& threads) {
  to.seconds("rows", threads.rows, "of `thread_seconds.rows`");
  to.seconds("row_groups", threads.row_groups, "of `thread_seconds.row_groups`");
  to.seconds("assembly", threads.assembly, "of `thread_seconds.assembly`");
  to.seconds("plan", threads.plan, "of `thread_seconds.plan`");
  to.seconds("engine", threads.engine, "of `thread_seconds.engine`");
  to.seconds("idle", threads.idle, "of threads between tasks: falling asleep, waking up, taking the next");
}

void tell_tuning(Teller& to, const TuningStats& decision) {
  to.note("seconds", decision.seconds, "when: since the first batch was asked for", "seconds");
  to.text("what", decision.what, "as the option is called");
  to.note("from", decision.from, "what it was");
  to.note("to", decision.to, "what it became");
  to.text("reason", decision.reason, "why");
}

void tell_chunks(Teller& to, const std::vector<uint32_t>& chunks) {
  std::map<uint32_t, int64_t> times;
  for (const uint32_t count : chunks) ++times[count];
  to.gauge("row_groups", uint64_t{chunks.size()}, "row groups of the data set");
  // Starts from a 64-bit value: the sum may exceed the 32 bits of its counts.
  to.counter("decoded", std::accumulate(chunks.begin(), chunks.end(), int64_t{0}), "row groups decoded");
  to.tally("decoded_times", times, "how many row groups were decoded how often");
}

void tell_partition(Teller& to, const PartitionStats& partition) {
  to.label("name", partition.name, "of the partition");
  to.gauge("waiting", partition.waiting, "records that have arrived and are in no step");
  to.counter("dropped", partition.dropped,
             "records that the policy of the buffer dropped, since the stream's beginning");
}

void tell_stream(Teller& to, const StreamStats& stream) {
  to.counter("arrived", stream.arrived, "records that came, those that another rank has read included");
  to.counter("trimmed", stream.trimmed, "records that the log had forgotten before they were read");
  to.counter("missing", stream.missing, "records that had not come when they were needed, so that old ones stood in");
  to.counter("from_ranks", stream.from_ranks,
             "records of this rank's batches that another rank had read from the broker, and gave");
  to.counter(
      "reread", stream.reread,
      "records that this rank read from the broker after all, since the rank that had read them did not give them");
  to.counter("old_lent", stream.old_lent, "old records that another rank keeps and lent for steps of this one");
  to.counter("old_reread", stream.old_reread,
             "old records read again from the log, since the rank that keeps them did not give them");
  to.counter("old_lost", stream.old_lost, "old records that nobody had any more, so that others stood in");
  to.counter("reconnects", stream.reconnects, "connections that were made again");
  to.gauge("memory_bytes", stream.bytes, "of records in memory", "bytes");
  to.gauge("disk_bytes", stream.disk_bytes, "of records that were spilled or are kept there", "bytes");
}

void tell_rehearsal(Teller& to, const RehearsalStats& rehearsal) {
  to.counter("hits", rehearsal.hits, "old samples whose row was there, so that the steps before did not run for them");
  to.counter("misses", rehearsal.misses, "old samples whose row was made again");
  to.gauge("entries", rehearsal.entries, "rows kept");
  to.gauge("bytes", rehearsal.bytes, "of its rows", "bytes");
  to.gauge("budget_bytes", rehearsal.budget_bytes, "what its rows may take", "bytes");
}

}  // namespace

void visit(const Ledger& ledger, LedgerVisitor& visitor) {
  Teller to(visitor);
  to.gauge("version", kLedgerVersion, "of these names, kinds and units; new ones do not raise it");
  to.list({"steps", "step", "operators, in the order of the work"}, ledger.steps, tell_step);
  to.list(
      {"stores", "store",
       "first that of the data set, then the disks of caches; each since it was made, for all loaders that share it"},
      ledger.stores, tell_store);
  to.list({"caches", "cache", "one for each `.cache()`"}, ledger.caches, tell_cache);
  to.group("memory_bytes", "between storage and the user", [&] { tell_memory(to, ledger); });
  // Groups that do not apply are left out as a whole instead of being reported as zeros.
  if (!ledger.chunks.empty()) to.group("chunks", "tables alone", [&] { tell_chunks(to, ledger.chunks); });
  if (ledger.stream) {
    to.group("stream", "sources without an end alone", [&] { tell_stream(to, *ledger.stream); });
    to.list({"partitions", "partition", "of a stream"}, ledger.stream->partitions, tell_partition);
  }
  if (ledger.rehearsal)
    to.group("rehearsal", "`.rehearse(where=\"here\")` alone: what the steps before it made of samples that are kept",
             [&] { tell_rehearsal(to, *ledger.rehearsal); });
  to.gauge("index_bytes", ledger.index_bytes,
           "the data set's index: keys and sizes, and classes that a rehearsal had read", "bytes");
  to.gauge("threads", ledger.threads, "compute threads that may work for it at once");
  to.gauge("requests", ledger.requests, "requests that may be in flight now");
  to.counter("batches", ledger.batches, "batches delivered");
  to.counter("samples", ledger.samples, "samples delivered");
  to.counter("errors", ledger.errors, "bad samples that were skipped or replaced");
  to.counter("reclaimed", ledger.reclaimed,
             "elements that gave their bytes back to an older one and were fetched again");
  to.counter("consumer_wait_seconds", ledger.consumer_wait_seconds, "that the consumer waited for batches", "seconds");
  to.group("wait_seconds",
           "the same, without a rest, by what the oldest element that was not done waited for or was at",
           [&] { tell_waits(to, ledger.waits); });
  to.group("thread_seconds",
           "wall time of the compute threads that may work for it, as many as there were at each time: `threads` × "
           "`elapsed_seconds` where their number did not change; without a rest",
           [&] { tell_threads(to, ledger.thread_time); });
  to.group("thread_cpu_seconds",
           "CPU time of the same, of tasks that have ended: what `thread_seconds` has beyond it was spent waiting, for "
           "a core, "
           "a lock or a mapped file",
           [&] { tell_thread_cpu(to, ledger.thread_cpu); });
  to.list({"tuning", "decision", "what was left to the engine and it changed: the latest 64"}, ledger.tuning,
          tell_tuning);
  to.gauge("elapsed_seconds", ledger.elapsed_seconds, "since the first batch was asked for", "seconds");
}

}  // namespace forebay
