#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "forebay/result.h"

namespace forebay {

/// An argument of a slice, or a value of a counter.
struct TraceArg {
  std::string_view name;
  std::variant<int64_t, std::string_view> value;
};
using TraceArgs = std::initializer_list<TraceArg>;

/// A timeline of a run: a file in the "Trace Event Format" (a JSON array, whose end may be
/// missing), which ui.perfetto.dev and chrome://tracing open. Slices lie on rows, and rows in
/// groups. Flows are arrows between slices. Times are those of monotonic_ns(). Methods may be
/// called from any thread; the calling thread occasionally waits for the disk.
///
/// The size of the file is bounded. Events beyond the limit are dropped; one warning in the log and
/// the last event of the file say so.
class Trace {
 public:
  struct Row {
    uint32_t group, row;
  };
  enum class Flow : char { kBegin = 's', kStep = 't', kEnd = 'f' };
  /// Smaller files cannot hold names and the last event.
  static constexpr uint64_t kLeastBytes = 4096;

  /// Opens the file and begins the trace. InvalidArgument if `most_bytes` is too small, Unavailable
  /// if the file cannot be written.
  static Result<std::shared_ptr<Trace>> create(const std::string& path, uint64_t most_bytes);
  /// Calls finish().
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Sets the title of a group. Groups are sorted by number.
  void name(uint32_t group, std::string_view title);
  void name(Row row, std::string_view title);
  /// The row of the calling thread in that group. The first call makes and names it.
  Row row_of_this_thread(uint32_t group, std::string_view title);
  /// A row of that group on which no other interval from lane() overlaps this one.
  Row lane(uint32_t group, std::string_view title, int64_t begin_ns, int64_t end_ns);

  /// Adds a slice. One that began before the trace is cut at its beginning. Slices of one row must
  /// be disjoint or nested.
  void slice(Row row, std::string_view title, int64_t begin_ns, int64_t end_ns, TraceArgs args = {});
  /// Adds a point of an arrow. It belongs to the slice of that row at that time. `id` identifies
  /// the arrow.
  void flow(Flow what, uint64_t id, Row row, int64_t at_ns);
  void counter(uint32_t group, std::string_view title, int64_t at_ns, TraceArgs values);

  /// Closes the file; later events are dropped. Returns the first error of the file, and the same
  /// again when called again.
  Status finish();

 private:
  Trace(FILE* file, std::string path, uint64_t most_bytes);
  double microseconds(int64_t at_ns) const;
  void add(const std::string& event);
  void write_out() FOREBAY_REQUIRES(mutex_);

  const std::string path_;
  const uint64_t max_bytes_;
  const int64_t begun_ns_;
  Mutex mutex_;
  FILE* file_ FOREBAY_GUARDED_BY(mutex_);  // null: finished
  std::string pending_ FOREBAY_GUARDED_BY(mutex_);
  uint64_t bytes_ FOREBAY_GUARDED_BY(mutex_) = 0;
  int64_t left_out_ FOREBAY_GUARDED_BY(mutex_) = 0;
  Status status_ FOREBAY_GUARDED_BY(mutex_);

  Mutex rows_mutex_ FOREBAY_ACQUIRED_BEFORE(mutex_);
  std::map<std::pair<uint32_t, std::thread::id>, uint32_t> threads_ FOREBAY_GUARDED_BY(rows_mutex_);
  // For each group: the end of each row's last interval.
  std::map<uint32_t, std::vector<int64_t>> lanes_ FOREBAY_GUARDED_BY(rows_mutex_);
};

/// Holds the current trace. Most of the time there is none. May be used from any thread.
class TraceSwitch {
 public:
  bool on() const { return on_.load(std::memory_order_relaxed); }
  /// The trace, or null if none is on.
  std::shared_ptr<Trace> get() const;
  /// Returns false if a trace is on already.
  bool turn_on(std::shared_ptr<Trace> trace);
  std::shared_ptr<Trace> turn_off();

 private:
  std::atomic<bool> on_{false};
  mutable Mutex mutex_;
  std::shared_ptr<Trace> trace_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
