#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace forebay {

/// Distribution of a measured value. The bounds are powers of two and change only with
/// kLedgerVersion.
struct Histogram {
  std::vector<double> bounds;    ///< largest value of each range
  std::vector<uint64_t> counts;  ///< values per range; one more for those above the last bound
  double sum = 0;                ///< sum of all values

  uint64_t count() const;
};

/// Work of one operator since the loader was opened.
struct StepStats {
  std::string name;
  int64_t samples = 0;
  uint64_t bytes_in = 0, bytes_out = 0;
  /// CPU time on compute threads. The sum over all operators is exact; its division among the
  /// operators of a row is sampled (one row in eight).
  double busy_seconds = 0;
  /// Half-width of the 95 % confidence interval of `busy_seconds` in this run. The CPU time of the
  /// same work may differ more than this between runs.
  double busy_uncertainty_seconds = 0;
  double waiting_seconds = 0;  ///< waiting for storage or user code
};

/// Activity of one store since it was opened. Loaders that read from the same store share it, and
/// each reports all of its activity. visit() describes each number.
struct StoreStats {
  /// Scheme and place, such as "s3://bucket/"; "files" for local paths, "http" for a list of URLs.
  std::string name;
  uint64_t requests = 0, listings = 0, heads = 0, opens = 0;
  uint64_t immediate = 0;  ///< reads that were answered at once (page cache, memory)
  uint64_t waited = 0;     ///< all other reads
  uint64_t bytes = 0, errors = 0, in_flight = 0;
  uint64_t attempts = 0, retries = 0, throttled = 0, timeouts = 0, hedges = 0, hedges_won = 0;
  double seconds = 0;
  Histogram read_bytes = {};       ///< sizes of successful reads
  Histogram latency_seconds = {};  ///< latencies of requests that had to wait
};

/// One tier of a cache.
struct TierStats {
  uint64_t hits = 0, entries = 0;
  uint64_t bytes = 0, budget_bytes = 0;  ///< used and allowed by its entries; budget 0: tier off
  uint64_t declined = 0;                 ///< entries that were offered and did not fit
  uint64_t damaged = 0;                  ///< entries that were found damaged and computed again
  std::string off;                       ///< why a requested tier is off
};

/// A `.cache()` of the pipeline.
struct CacheStats {
  std::string place;        ///< identifies the cached results: 32 hexadecimal digits
  std::string description;  ///< describes the steps whose results are cached
  TierStats ram, disk;
  uint64_t misses = 0;       ///< requested entries that no tier of this host had
  uint64_t peer_hits = 0;    ///< misses that another host of the job answered
  uint64_t index_bytes = 0;  ///< memory of the index of the disk tier
  uint64_t seen_bytes = 0;   ///< size of all distinct entries requested; estimated if many
  double hit_ratio = 0;      ///< hits of all tiers ÷ requests, since the cache was opened
  double optimum = 0;        ///< best ratio that the budgets allow in a sweep over all entries
};

/// Rows that a `.rehearse(where="here")` has retained for replayed samples: the outputs of the
/// steps before it.
struct RehearsalStats {
  uint64_t hits = 0;    ///< replayed samples whose row was retained
  uint64_t misses = 0;  ///< replayed samples whose row was computed again
  uint64_t entries = 0, bytes = 0, budget_bytes = 0;
};

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

/// A change that the engine made, while the loader ran, to a number that the user left open.
struct TuningStats {
  double seconds = 0;  ///< time of the change, since the first batch was requested
  std::string what;    ///< name of the option: "threads", "requests"
  int64_t from = 0, to = 0;
  std::string reason;
};

/// One partition of a stream.
struct PartitionStats {
  std::string name;
  int64_t waiting = 0;  ///< records that have arrived and are not yet part of a step
  int64_t dropped = 0;  ///< records that the buffer's policy dropped since the stream began
};

/// A stream, since the loader was opened or last changed its position.
struct StreamStats {
  int64_t arrived = 0;      ///< records that arrived, on any rank
  int64_t trimmed = 0;      ///< records that the log had deleted before they were read
  int64_t missing = 0;      ///< records that were late, so that replayed ones replaced them
  int64_t from_ranks = 0;   ///< records of this rank's batches that another rank read and sent
  int64_t reread = 0;       ///< records that this rank read because the other rank sent none
  int64_t old_lent = 0;     ///< replayed records that their owner sent for a step of this rank
  int64_t old_reread = 0;   ///< replayed records read from the log because the owner sent none
  int64_t old_lost = 0;     ///< replayed records that were lost everywhere and were replaced
  int64_t reconnects = 0;   ///< connections that were opened again
  uint64_t bytes = 0;       ///< bytes of records in memory
  uint64_t disk_bytes = 0;  ///< bytes of records that were spilled to disk or are stored there
  std::vector<PartitionStats> partitions;
};

/// All counters of a loader. visit() is the only description of their names and meanings: Python's
/// dict, JSON, text, Prometheus and docs/stats.md are made by visiting.
struct Ledger {
  std::vector<StepStats> steps;
  std::vector<StoreStats> stores;  ///< the data set's store first, then the disks of caches
  std::vector<CacheStats> caches;
  uint64_t memory_budget = 0, memory_used = 0, memory_peak = 0;
  /// Parts of `memory_used`, which is their sum. Index, caches, reads and columns may be shared by
  /// several loaders, and each of them counts the full amount.
  uint64_t memory_batches = 0, memory_fetched = 0, memory_working = 0, memory_pool = 0, memory_chunks = 0,
           memory_index = 0, memory_caches = 0, memory_reads = 0, memory_columns = 0;
  std::vector<uint32_t> chunks;  ///< tables: how often each row group was decoded
  uint64_t index_bytes = 0;      ///< memory of the data set's index (keys and sizes)
  int threads = 0, requests = 0;
  int64_t batches = 0, samples = 0, errors = 0;
  int64_t reclaimed = 0;             ///< elements that were reclaimed and read again
  double consumer_wait_seconds = 0;  ///< sum of `waits`
  WaitStats waits;
  ThreadStats thread_time;
  ThreadCpuStats thread_cpu;
  std::vector<TuningStats> tuning;          ///< latest changes, the oldest first
  std::optional<StreamStats> stream;        ///< set for streams
  std::optional<RehearsalStats> rehearsal;  ///< set for `.rehearse(where="here")`
  double elapsed_seconds = 0;               ///< since the first batch was requested; 0 before that
};

/// Version of the names, kinds and units that visit() reports. It is raised when one of them is
/// removed or changes its meaning. New figures do not raise it.
inline constexpr int64_t kLedgerVersion = 1;

/// How the value of a figure behaves, which decides how views show it.
enum class FigureKind : uint8_t {
  kText,      ///< text for people
  kLabel,     ///< names the element that the other figures of the group describe
  kCounter,   ///< only grows
  kEstimate,  ///< a counter that is partly sampled and may decrease slightly
  kGauge,     ///< goes up and down
  kNote,      ///< a number that describes an event; not a time series
  kTally,     ///< map from a number to how many items have that number
  kHistogram,
};

/// Description of one number. `unit` is "" (a count), "bytes", "seconds" or "ratio". Names of
/// figures in bytes or seconds, or the names of their groups, end in the unit.
struct Figure {
  std::string_view name;
  FigureKind kind;
  std::string_view unit;
  std::string_view help;
};

/// Description of a group of figures, or of a list of such groups.
struct FigureGroup {
  std::string_view name;
  std::string_view one;  ///< name of one element of a list; empty for a single group
  std::string_view help;
};

using FigureNumber = std::variant<int64_t, uint64_t, double>;

/// Receives the figures of a ledger one by one, in the order of docs/stats.md. Inside of a list,
/// begin() is followed by begin_item() … end_item() for each element.
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
/// Reports all figures of the ledger to the visitor, with name, kind, unit and help text. Groups
/// that do not apply, such as `stream` for a table, are left out.
void visit(const Ledger& ledger, LedgerVisitor& visitor);

/// Returns at most ten lines for people: what the consumer waited for, the busiest steps, the one
/// thing to change and what that could gain at most.
std::string report(const Ledger& ledger);
/// Returns a JSON object with the names and the order of visit(). Bytes that are not UTF-8 become
/// U+FFFD.
std::string to_json(const Ledger& ledger);
/// Returns a description of all figures that a ledger may have, as JSON: {"version", "figures":
/// [{"name", "kind", "unit", "help"}, or {"name", "one", "help", "figures": […]}]}.
std::string ledger_schema();

}  // namespace forebay
