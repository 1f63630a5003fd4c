#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stream/journal.h"
#include "stream/memory_log_test_support.h"
#include "stream/stream.h"

namespace forebay {

using namespace std::chrono_literals;
constexpr auto kStreamPatience = 20s;

/// Gives the processor to other threads many times, for a test that wants to meet them under way.
/// Its result does not depend on how far they get. Ends soon, also on a machine whose processors run
/// other programs in between: what waits meanwhile has deadlines.
inline void let_others_run(int yields = 10'000) {
  const auto until = std::chrono::steady_clock::now() + 100ms;
  for (int i = 0; i < yields && std::chrono::steady_clock::now() < until; ++i) std::this_thread::yield();
}
/// Waits until a condition holds that other threads bring about. False if it never does.
template <typename Condition>
bool becomes(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A stream on whose arrivals a test can wait, as a run does.
class AwaitedStream final : public Stream {
 public:
  AwaitedStream(std::shared_ptr<const RecordLog> log, StreamOptions options)
      : Stream(std::move(log), std::move(options)) {
    on_arrival([this] { arrive(); });
  }
  ~AwaitedStream() override { stop(); }  // its threads use the members

  void arrive() {
    const std::lock_guard lock(mutex_);
    ++arrivals_;
    arrived_.notify_all();
  }
  int64_t arrivals() const {
    const std::lock_guard lock(mutex_);
    return arrivals_;
  }
  /// Waits until arrive() has been called that many times in all. False after 20 s.
  bool wait_arrivals(int64_t arrivals) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, kStreamPatience, [&] { return arrivals_ >= arrivals; });
  }
  /// Waits until a condition holds that arrivals may change. False if it never will.
  template <typename Condition>
  bool wait_for(Condition condition) {
    for (;;) {
      const int64_t before = arrivals();
      if (condition()) return true;
      if (!failure().ok() || !wait_arrivals(before + 1)) return false;
    }
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  int64_t arrivals_ = 0;
};

/// Waits until the records below `end` are known. False if they never will be.
inline bool wait_known(AwaitedStream& stream, int64_t end) {
  return stream.wait_for([&] { return stream.request(end); });
}

/// The keys of records [from, to). `records`: a Stream, or another class with a record(number).
template <typename Records>
std::vector<std::string> keys(const Records& records, int64_t from, int64_t to) {
  std::vector<std::string> keys;
  for (int64_t i = from; i < to; ++i) {
    const auto record = records.record(i);
    keys.push_back(record ? record->key : "");
  }
  return keys;
}

// Returns a place after it has been text, as in a journal.
inline Result<StreamPlace> saved_and_loaded(const StreamPlace& place, const std::vector<std::string>& partitions) {
  JournalHeader header;
  header.place = place;
  FOREBAY_ASSIGN(header, JournalHeader::from_json(header.to_json(partitions), partitions));
  return header.place;
}

inline StreamOptions decisions_of(size_t records) {
  StreamOptions options;
  options.decision_records = records;
  options.seed = 5;
  return options;
}

inline std::shared_ptr<MemoryLog> log_with(std::vector<int64_t> records, uint64_t bytes = 8) {
  auto log = std::make_shared<MemoryLog>(records.size(), bytes);
  for (size_t p = 0; p < records.size(); ++p) log->append(p, records[p]);
  return log;
}

}  // namespace forebay
