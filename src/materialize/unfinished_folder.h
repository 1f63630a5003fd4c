#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"
#include "format/materialized/manifest.h"
#include "format/materialized/sample_shard.h"

namespace forebay {

/// A folder while shards are written to it, by any number of processes: what is to be made, and which shards are done, stand below `_unfinished` in
/// it. A shard is there as a whole or not at all, whenever a writer is killed; what killed ones leave behind goes with the next.
class UnfinishedFolder {
 public:
  /// `job`: what is to be made. Where something was begun there that is the same up to `how`, the rest is that of the beginning.
  struct Job {
    std::string what;  ///< equal for equal results: a MaterializedManifest without shards
    std::string how;   ///< chosen when it began: which rows are in which shard; JSON
  };
  /// InvalidArgument where the folder has something else; NotFound or Unavailable where it cannot be made.
  static Result<UnfinishedFolder> open(std::string folder, Job job);

  const Job& job() const { return job_; }
  /// The manifest, where all is finished. What a writer that was killed then left there is gone.
  static Result<std::optional<MaterializedManifest>> finished(const std::string& folder);
  /// MaterializedManifest::steps of what was finished there, or begun; nothing where nothing was, or it cannot be read.
  static std::optional<std::string> steps_of(const std::string& folder);

  /// Nothing unless the shard is done.
  std::optional<StoredShard> done(int64_t shard) const;
  /// Safe on the disk when it returns. Unavailable where it cannot be written.
  Result<StoredShard> put(int64_t shard, int64_t rows, const ShardFiles& files) const;
  /// Once all shards are done: from here on there is a manifest, and nothing unfinished.
  Status finish(const MaterializedManifest& manifest) const;

 private:
  explicit UnfinishedFolder(std::string folder, Job job) : folder_(std::move(folder)), job_(std::move(job)) {}
  Status begin();
  void sweep() const;
  Status write(const std::string& name, std::string_view bytes) const;
  std::string below(std::string_view name) const;

  std::string folder_;
  Job job_;
  StoredFormat format_ = StoredFormat::kArrow;
};

}  // namespace forebay
