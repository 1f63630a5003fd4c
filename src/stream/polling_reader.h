#pragma once

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

#include "stream/record_log.h"
#include "stream/stream_clock.h"

namespace forebay {

/// A LogReader that polls for records until there are some or the wait is over. Derived classes
/// implement one poll(), which may wait for a server.
class PollingReader : public LogReader {
 public:
  Result<std::vector<LogRecord>> read(const std::vector<size_t>& wanted, const Limits& limits,
                                      std::stop_token stop) final;
  std::vector<LogGap> take_gaps() final { return std::exchange(gaps_, {}); }
  int64_t reconnects() const override { return reconnects_; }

 protected:
  using Time = StreamClock::Time;
  explicit PollingReader(StreamClock& clock) : clock_(clock) {}

  /// Adds to `records` those that the wanted partitions have now, and to `gaps_` the gaps. `wanted`
  /// is not empty. `limits.wait` is the rest of the wait.
  virtual Status poll(const std::vector<size_t>& wanted, const Limits& limits, const std::stop_token& stop,
                      std::vector<LogRecord>& records) = 0;
  /// The time of the next poll after one that found nothing.
  virtual Time next_poll(size_t wanted) = 0;

  /// Those of `all` that read the wanted partitions. InvalidArgument for a partition of another
  /// reader.
  template <typename T>
  static Result<std::vector<T*>> find_wanted(const std::vector<size_t>& wanted, std::vector<T>& all) {
    std::vector<T*> found;
    for (const size_t partition : wanted) {
      const auto at = std::ranges::find(all, partition, &T::partition);
      if (at == all.end()) return no_such_partition(partition);
      found.push_back(&*at);
    }
    return found;
  }

  StreamClock& clock_;
  std::vector<LogGap> gaps_;
  int64_t reconnects_ = 0;

 private:
  static Status no_such_partition(size_t partition);
};

}  // namespace forebay
