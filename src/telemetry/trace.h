#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Something to know about a slice, or a value of a counter.
struct TraceArg {
  std::string_view name;
  std::variant<int64_t, std::string_view> value;
};
using TraceArgs = std::initializer_list<TraceArg>;

/// What happened when, for people to look at: a file in the JSON form of trace events ("Trace Event Format"; an array, of which the
/// end may be missing), which ui.perfetto.dev and chrome://tracing open. Slices lie on rows, rows in groups; flows are arrows between
/// slices; times are those of monotonic_ns(). Any thread may write; now and then the one that does waits for the disk.
///
/// Bounded: an event beyond the limit is left out, which is said once in the log and at the end of the file.
class Trace {
 public:
  struct Row {
    uint32_t group, row;
  };
  enum class Flow : char { kBegin = 's', kStep = 't', kEnd = 'f' };
  static constexpr uint64_t kLeastBytes = 4096;  ///< less has no room for names and the end

  /// Begins now. Errors: InvalidArgument (`most_bytes` is too small), Unavailable (the file cannot be written).
  static Result<std::shared_ptr<Trace>> create(const std::string& path, uint64_t most_bytes);
  /// finish().
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The title of a group; smaller numbers stand higher.
  void name(uint32_t group, std::string_view title);
  void name(Row row, std::string_view title);
  /// The row of the calling thread in that group, made and named at the first call.
  Row row_of_this_thread(uint32_t group, std::string_view title);
  /// A row of that group where nothing that was put there by lane() overlaps this time.
  Row lane(uint32_t group, std::string_view title, int64_t begin_ns, int64_t end_ns);

  /// What began before the trace did begins with it. Slices of one row have to lie beside or within one another.
  void slice(Row row, std::string_view title, int64_t begin_ns, int64_t end_ns, TraceArgs args = {});
  /// A point of an arrow: belongs to the slice of that row at that time. Arrows are told apart by `id`.
  void flow(Flow what, uint64_t id, Row row, int64_t at_ns);
  void counter(uint32_t group, std::string_view title, int64_t at_ns, TraceArgs values);

  /// Nothing is written from here on. Gives the first thing that went wrong with the file. Again: the same.
  Status finish();

 private:
  Trace(FILE* file, std::string path, uint64_t most_bytes);
  double microseconds(int64_t at_ns) const;
  void add(const std::string& event);
  void write_out();

  const std::string path_;
  const uint64_t most_bytes_;
  const int64_t begun_ns_;
  std::mutex mutex_;
  FILE* file_;  // null: finished
  std::string pending_;
  uint64_t bytes_ = 0;
  int64_t left_out_ = 0;
  Status status_;

  std::mutex rows_mutex_;
  std::map<std::pair<uint32_t, std::thread::id>, uint32_t> threads_;
  std::map<uint32_t, std::vector<int64_t>> lanes_;  // of each group: until when they are taken
};

/// Where those who work look for a trace: most of the time there is none. Any thread.
class TraceSwitch {
 public:
  bool on() const { return on_.load(std::memory_order_relaxed); }
  /// Null while nothing is traced.
  std::shared_ptr<Trace> get() const;
  /// False: there is one already.
  bool turn_on(std::shared_ptr<Trace> trace);
  std::shared_ptr<Trace> turn_off();

 private:
  std::atomic<bool> on_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<Trace> trace_;
};

}  // namespace forebay
