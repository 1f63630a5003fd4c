#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "forebay/loader.h"
#include "study/trial.h"

namespace forebay {

/// Reads the samples of a loader without a shuffle, in the order of their ids. ShardMaker seeks it
/// to the first sample of a shard and reads on from there. Not thread-safe.
class RowFeed {
 public:
  RowFeed(std::shared_ptr<Loader> loader, const TrialContext& context, int64_t batch)
      : loader_(std::move(loader)), context_(context), batch_size_(batch) {}

  /// Makes `id` the next sample. Costs nothing if it already is.
  Status seek(int64_t id);
  /// Rows [begin, end) of a batch. Valid until the next call.
  struct Rows {
    const Batch* batch = nullptr;
    int64_t begin = 0, end = 0;
  };
  /// Returns the next rows, `most` at most.
  Result<Rows> next(int64_t most);

 private:
  Status fetch();

  const std::shared_ptr<Loader> loader_;
  const TrialContext& context_;
  const int64_t batch_size_;
  Batch batch_;
  int64_t at_ = 0;  ///< row of the batch
  int64_t next_id_ = 0;
};

}  // namespace forebay
