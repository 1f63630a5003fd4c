#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "forebay/stats/cache.h"
#include "forebay/stats/histogram.h"
#include "forebay/stats/part.h"
#include "forebay/stats/rehearsal.h"
#include "forebay/stats/step.h"
#include "forebay/stats/store.h"
#include "forebay/stats/stream.h"
#include "forebay/stats/time.h"
#include "forebay/stats/tuning.h"

namespace forebay {

/// All counters of a loader. visit() is the only description of their names and meanings: Python's
/// dict, JSON, text, Prometheus and docs/reference/stats.md are made by visiting.
struct Ledger {
  std::vector<StepStats> steps;
  std::vector<PartStats> parts;    ///< empty for pipelines over one data set
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

/// Receives the figures of a ledger one by one, in the order of docs/reference/stats.md. Inside of a
/// list, begin() is followed by begin_item() … end_item() for each element.
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
