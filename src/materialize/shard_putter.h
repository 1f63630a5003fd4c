#pragma once

#include <cstdint>
#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "materialize/aside.h"
#include "materialize/unfinished_folder.h"

namespace forebay {

/// Writes a shard on a thread of its own while the next one is made: two of them are in memory at most.
class ShardPutter {
 public:
  ShardPutter(const UnfinishedFolder& folder, const Aside& aside) : folder_(folder), aside_(aside) {}

  /// Waits for what is under way, which is stopped where all of it is to end.
  ~ShardPutter() {
    if (under_way_.valid() && (aside_.to_end() || std::uncaught_exceptions() > 0)) aside_.end();
  }
  ShardPutter(const ShardPutter&) = delete;
  ShardPutter& operator=(const ShardPutter&) = delete;

  /// What put() gave for the one before, if there was one; then begins with this one.
  Result<std::optional<StoredShard>> put(int64_t shard, int64_t rows, ShardFiles files) {
    FOREBAY_ASSIGN(std::optional<StoredShard> before, wait());
    under_way_ = std::async(std::launch::async,
                            [this, shard, rows, files = std::move(files)] { return folder_.put(shard, rows, files); });
    return before;
  }
  /// Until nothing is under way.
  Result<std::optional<StoredShard>> wait() {
    if (!under_way_.valid()) return std::optional<StoredShard>();
    aside_.wait(under_way_);
    FOREBAY_ASSIGN(StoredShard stored, under_way_.get());
    return std::optional(std::move(stored));
  }

 private:
  const UnfinishedFolder& folder_;
  const Aside& aside_;
  std::future<Result<StoredShard>> under_way_;  ///< last: its end waits
};

}  // namespace forebay
