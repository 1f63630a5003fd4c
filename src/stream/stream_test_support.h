#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "stream/memory_log_test_support.h"
#include "stream/stream.h"

namespace forebay {

using namespace std::chrono_literals;
constexpr auto kStreamPatience = 20s;

/// Waits until the records below `end` are known, as a run does.
inline bool wait_known(Stream& stream, int64_t end) {
  const auto until = std::chrono::steady_clock::now() + kStreamPatience;
  while (!stream.known(end)) {
    if (!stream.failure().ok() || std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

inline std::vector<std::string> keys(const Stream& stream, int64_t from, int64_t to) {
  std::vector<std::string> keys;
  for (int64_t i = from; i < to; ++i) {
    const auto record = stream.record(i);
    keys.push_back(record ? record->key : "");
  }
  return keys;
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
