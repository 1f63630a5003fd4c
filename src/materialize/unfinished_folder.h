#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"
#include "format/materialized/manifest.h"
#include "format/materialized/sample_shard.h"
#include "materialize/writing_place.h"

namespace forebay {

/// A place while shards are written to it, by any number of processes: what is to be made, and which shards are done, stand below `_unfinished` in
/// it. A shard is there as a whole or not at all, whenever a writer is killed; what killed ones leave behind goes with the next.
class UnfinishedFolder {
 public:
  using Place = std::shared_ptr<const WritingPlace>;

  /// `job`: what is to be made. Where something was begun there that is the same up to `how`, the rest is that of the beginning.
  struct Job {
    std::string what;  ///< equal for equal results: a MaterializedManifest without shards
    std::string how;   ///< chosen when it began: which rows are in which shard; JSON
  };
  /// InvalidArgument where the place has something else; NotFound or Unavailable where it cannot be made.
  static Result<UnfinishedFolder> open(Place place, Job job);

  const Job& job() const { return job_; }
  /// The manifest, where all is finished. What a writer that was killed then left there is gone.
  static Result<std::optional<MaterializedManifest>> finished(const WritingPlace& place);
  /// MaterializedManifest::steps of what was finished there, or begun; nothing where nothing was, or it is damaged.
  static Result<std::optional<std::string>> steps_of(const WritingPlace& place);

  /// For each of these shards nothing unless it is done.
  Result<std::vector<std::optional<StoredShard>>> done(std::span<const int64_t> shards) const;
  /// Safe at its place when it returns. Unavailable where it cannot be written.
  Result<StoredShard> put(int64_t shard, int64_t rows, const ShardFiles& files) const;
  /// Once all shards are done: from here on there is a manifest, and nothing unfinished.
  Status finish(const MaterializedManifest& manifest) const;

 private:
  explicit UnfinishedFolder(Place place, Job job) : place_(std::move(place)), job_(std::move(job)) {}
  Status begin();

  Place place_;
  Job job_;
  StoredFormat format_ = StoredFormat::kArrow;
};

}  // namespace forebay
