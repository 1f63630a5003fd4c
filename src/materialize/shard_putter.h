#pragma once

#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "materialize/interruptible_runner.h"
#include "materialize/unfinished_folder.h"

namespace forebay {

/// Writes a shard on a thread of its own while the caller makes the next one. At most two shards
/// are in memory.
class ShardPutter {
 public:
  ShardPutter(const UnfinishedFolder& folder, const InterruptibleRunner& runner) : folder_(folder), runner_(runner) {}

  /// Waits for the write in progress. The write is stopped first if all work should end.
  ~ShardPutter() {
    if (pending_.valid() && (runner_.should_stop() || std::uncaught_exceptions() > 0)) runner_.request_stop();
  }
  ShardPutter(const ShardPutter&) = delete;
  ShardPutter& operator=(const ShardPutter&) = delete;

  /// Waits for the write before, starts this one, and returns the result of the one before, if any.
  Result<std::optional<StoredShard>> put(int64_t shard, int64_t rows, ShardFiles files) {
    FOREBAY_ASSIGN(std::optional<StoredShard> before, wait());
    pending_ = std::async(std::launch::async,
                          [this, shard, rows, files = std::move(files)] { return folder_.put(shard, rows, files); });
    return before;
  }
  /// Waits for the write in progress, and returns its result, if any.
  Result<std::optional<StoredShard>> wait() {
    if (!pending_.valid()) return std::optional<StoredShard>();
    runner_.wait(pending_);
    FOREBAY_ASSIGN(StoredShard stored, pending_.get());
    return std::optional(std::move(stored));
  }

 private:
  const UnfinishedFolder& folder_;
  const InterruptibleRunner& runner_;
  std::future<Result<StoredShard>> pending_;  ///< declared last: its destructor waits
};

}  // namespace forebay
