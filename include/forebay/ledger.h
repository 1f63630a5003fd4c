#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace forebay {

/// How often values of which size occurred. The bounds are powers of two, and the same for as long as the schema is.
struct Histogram {
  std::vector<double> bounds;    ///< the largest value of each range
  std::vector<uint64_t> counts;  ///< one more than bounds: the last is of what lies above all of them
  double sum = 0;                ///< of all values

  uint64_t count() const;
};

/// What one operator did since the loader was opened.
struct StepStats {
  std::string name;
  int64_t samples = 0;
  uint64_t bytes_in = 0, bytes_out = 0;
  /// CPU time on compute threads. Exact in sum; how it is divided among operators is sampled (one row in eight).
  double busy_seconds = 0;
  /// 95 of 100 times it is not further off than this, for this run: the same work may take other CPU time in another.
  double busy_uncertainty_seconds = 0;
  double waiting_seconds = 0;  ///< for storage or user code
};

/// What one store did since it was made; loaders that read from one store share it. For what each number means see visit().
struct StoreStats {
  std::string name;  ///< scheme and place: "s3://bucket/"; "files" for local paths, "http" for a list of addresses
  uint64_t requests = 0, listings = 0, heads = 0, opens = 0;
  uint64_t immediate = 0;  ///< reads that were answered at once (page cache, memory)
  uint64_t waited = 0;     ///< reads that were not
  uint64_t bytes = 0, errors = 0, in_flight = 0;
  uint64_t attempts = 0, retries = 0, throttled = 0, timeouts = 0, hedges = 0, hedges_won = 0;
  double seconds = 0;
  Histogram read_bytes = {};       ///< of reads that brought their bytes
  Histogram latency_seconds = {};  ///< of requests that had to wait
};

/// One tier of a cache.
struct TierStats {
  uint64_t hits = 0, entries = 0;
  uint64_t bytes = 0, budget_bytes = 0;  ///< of its entries; 0: the tier is off
  uint64_t declined = 0;                 ///< entries offered for which there was no room
  uint64_t damaged = 0;                  ///< entries found damaged; they were made anew
  std::string off;                       ///< why a tier that was asked for is off
};

/// A `.cache()` of the pipeline.
struct CacheStats {
  std::string place;        ///< identifies what is kept: 32 hexadecimal digits
  std::string description;  ///< of the steps whose results are kept
  TierStats ram, disk;
  uint64_t misses = 0;
  uint64_t peer_hits = 0;    ///< of these, entries that another host of the job had
  uint64_t index_bytes = 0;  ///< memory that knows what is on disk
  uint64_t seen_bytes = 0;   ///< of all different entries that were asked for (estimated beyond some thousands)
  double hit_ratio = 0;      ///< hits of all tiers ÷ what was asked for, since it was opened
  double optimum = 0;        ///< the best ratio that the budgets allow in a sweep over all entries
};

/// Of a `.rehearse(where="here")`: rows as the steps before it made them, of samples that are kept.
struct RehearsalStats {
  uint64_t hits = 0;    ///< old samples whose row was there
  uint64_t misses = 0;  ///< whose row was made again
  uint64_t entries = 0, bytes = 0, budget_bytes = 0;
};

/// Seconds that the consumer waited for a batch, divided without a rest by what its oldest element that was not done waited for, or was at.
/// `interpreter`: it was there, and the lock of the consumer's language was not.
struct WaitStats {
  double plan = 0, arrival = 0, memory = 0, slot = 0, storage = 0, thread = 0, compute = 0, user = 0, assembly = 0,
         interpreter = 0;
};

/// Seconds of the compute threads that may work for a loader at once, divided without a rest by what they did for it. `idle`: nothing, or
/// work of other loaders.
struct ThreadStats {
  double rows = 0, row_groups = 0, assembly = 0, plan = 0, engine = 0, idle = 0;
};

/// CPU seconds of these, of tasks that have ended. What a part of ThreadStats has beyond them was spent waiting: for a core, a lock, a mapped file.
/// `idle`: threads falling asleep, waking up and taking a task.
struct ThreadCpuStats {
  double rows = 0, row_groups = 0, assembly = 0, plan = 0, engine = 0, idle = 0;
};

/// One change of what was left to the engine, while the loader ran.
struct TuningStats {
  double seconds = 0;  ///< since the first batch was asked for
  std::string what;    ///< as the option is called: "threads", "requests"
  int64_t from = 0, to = 0;
  std::string reason;
};

/// Of one partition of a stream.
struct PartitionStats {
  std::string name;
  int64_t waiting = 0;  ///< records that have arrived and are in no step
  int64_t dropped = 0;  ///< by the policy of its buffer, since the stream's beginning
};

/// Of a stream, since the loader was opened or went elsewhere.
struct StreamStats {
  int64_t arrived = 0;      ///< records that came, those that another rank has read included
  int64_t trimmed = 0;      ///< that the log had forgotten before they were read
  int64_t missing = 0;      ///< that had not come when they were needed: old ones stood in
  int64_t from_ranks = 0;   ///< records of batches that another rank had read, and gave
  int64_t reread = 0;       ///< and those that this one read after all, since that one did not
  int64_t old_lent = 0;     ///< old ones that another rank keeps and lent for a step of this one
  int64_t old_reread = 0;   ///< that were read again from the log, since the rank that keeps them did not give them
  int64_t old_lost = 0;     ///< that nobody had any more: others stood in
  int64_t reconnects = 0;   ///< connections that were made again
  uint64_t bytes = 0;       ///< of records in memory
  uint64_t disk_bytes = 0;  ///< of records that were spilled or are kept there
  std::vector<PartitionStats> partitions;
};

/// All that a loader has counted. What is in it is said once, in visit(): Python's dict, JSON, text, Prometheus and docs/stats.md are
/// made by visiting.
struct Ledger {
  std::vector<StepStats> steps;
  std::vector<StoreStats> stores;  ///< first that of the data set, then the disks of caches
  std::vector<CacheStats> caches;
  uint64_t memory_budget = 0, memory_used = 0, memory_peak = 0;
  /// `used` is the sum of these, of which those of the last line are shared: each loader that uses them counts them in full.
  uint64_t memory_batches = 0, memory_fetched = 0, memory_working = 0, memory_pool = 0, memory_chunks = 0,
           memory_index = 0, memory_caches = 0, memory_reads = 0, memory_columns = 0;
  std::vector<uint32_t> chunks;  ///< for tables: how often each row group was decoded so far
  uint64_t index_bytes = 0;      ///< the data set's index: keys and sizes
  int threads = 0, requests = 0;
  int64_t batches = 0, samples = 0, errors = 0;
  int64_t retracted = 0;             ///< elements that gave their bytes back to an older one and were fetched again
  double consumer_wait_seconds = 0;  ///< the sum of `waits`
  WaitStats waits;
  ThreadStats thread_time;
  ThreadCpuStats thread_cpu;
  std::vector<TuningStats> tuning;          ///< the latest changes, the oldest first
  std::optional<StreamStats> stream;        ///< of a source without an end
  std::optional<RehearsalStats> rehearsal;  ///< where old samples come in as they were when they were new
  double elapsed_seconds = 0;               ///< since the first batch was asked for; 0: none was
};

/// Of the names, kinds and units that visit() tells. Raised when one of them goes or means something else; new ones do not raise it.
inline constexpr int64_t kLedgerVersion = 1;

enum class FigureKind : uint8_t {
  kText,      ///< for people
  kLabel,     ///< what the other figures of its group belong to
  kCounter,   ///< only grows
  kEstimate,  ///< a counter of which a part is sampled: may come out a little less than before
  kGauge,     ///< goes up and down
  kNote,      ///< a number that says something of an event: no series of its own
  kTally,     ///< number → how many there are of which that is true
  kHistogram,
};

/// What a number is. `unit`: "" (things are counted), "bytes", "seconds" or "ratio"; bytes and seconds stand in the name of the figure, or
/// of its group.
struct Figure {
  std::string_view name;
  FigureKind kind;
  std::string_view unit;
  std::string_view help;
};

/// Figures that belong together: one group of that name, or a list of them.
struct FigureGroup {
  std::string_view name;
  std::string_view one;  ///< what a list's element is called; empty where it is no list
  std::string_view help;
};

using FigureNumber = std::variant<int64_t, uint64_t, double>;

/// Sees a ledger figure by figure, in the order of the documents. A list's begin() is followed by begin_item() … end_item() for each
/// element.
class LedgerVisitor {
 public:
  virtual ~LedgerVisitor() = default;
  virtual void number(const Figure& figure, FigureNumber value) = 0;
  virtual void text(const Figure& figure, const std::string& value) = 0;
  virtual void tally(const Figure& figure, const std::map<uint32_t, int64_t>& value) = 0;
  virtual void histogram(const Figure& figure, const Histogram& value) = 0;
  virtual void begin(const FigureGroup& group) = 0;
  virtual void end(const FigureGroup& group) = 0;
  virtual void begin_item() = 0;
  virtual void end_item() = 0;
};
/// The one place that says what a ledger holds.
void visit(const Ledger& ledger, LedgerVisitor& visitor);

/// At most ten lines for people: what the consumer waited for, the busiest steps, the one thing to change and what that could gain at most.
std::string report(const Ledger& ledger);
/// A JSON object, with the names and the order of visit(). Bytes that are not UTF-8 become U+FFFD.
std::string to_json(const Ledger& ledger);
/// What there can be in a ledger, as JSON: {"version", "figures": [{"name", "kind", "unit", "help"}, or {"name", "one", "help",
/// "figures": […]}]}.
std::string ledger_schema();

}  // namespace forebay
