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
#include "materialize/output_location.h"

namespace forebay {

/// Output location to which any number of processes write shards. Files below `_unfinished` hold
/// the job, and an entry for each finished shard. Invariant: a shard with an entry is complete,
/// whenever a writer is killed; the next writer deletes the remains of killed ones. The methods are
/// const, and block.
class UnfinishedFolder {
 public:
  using Location = std::shared_ptr<const OutputLocation>;

  /// Data to make. If a job with the same manifest was begun before, the plan of that job applies.
  struct Job {
    std::string manifest_json;  ///< equal for equal results: a MaterializedManifest without shards
    std::string plan_json;      ///< JSON, fixed when the job begins: the assignment of rows to shards
  };
  /// InvalidArgument if the location holds another job. NotFound or Unavailable if it cannot be
  /// made.
  static Result<UnfinishedFolder> open(Location location, Job job);

  const Job& job() const { return job_; }
  /// Returns the manifest if all shards are finished. Then also deletes the remains of killed
  /// writers.
  static Result<std::optional<MaterializedManifest>> finished(const OutputLocation& location);
  /// Returns the MaterializedManifest::steps of finished or begun data; nothing if there is none,
  /// or if it is damaged.
  static Result<std::optional<std::string>> steps_of(const OutputLocation& location);

  /// Returns for each of these shards its entry, or nothing if it is not done.
  Result<std::vector<std::optional<StoredShard>>> finished_shards(std::span<const int64_t> shards) const;
  /// Writes a shard, which is durable when the call returns. Unavailable if it cannot be written.
  Result<StoredShard> put(int64_t shard, int64_t rows, const ShardFiles& files) const;
  /// Writes the manifest and deletes `_unfinished`. Call it once all shards are done.
  Status finish(const MaterializedManifest& manifest) const;

 private:
  explicit UnfinishedFolder(Location location, Job job) : location_(std::move(location)), job_(std::move(job)) {}
  Status begin();

  Location location_;
  Job job_;
  StoredFormat format_ = StoredFormat::kArrow;
};

}  // namespace forebay
