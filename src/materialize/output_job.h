#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "forebay/result.h"
#include "format/files/open_store.h"
#include "format/materialized/manifest.h"
#include "materialize/output_location.h"
#include "materialize/unfinished_folder.h"

namespace forebay {

/// Where a materialization writes: directly to its location or, if finished data there is brought
/// up to date, to a folder of the update, which becomes visible as a whole when it is finished.
/// Used from one thread at a time; the calls block.
class OutputJob {
 public:
  /// `folder` is a local folder or an s3:// URL. Unsupported for other URLs. Touches no storage.
  static Result<OutputJob> open(std::string folder, StorageOptions options, std::stop_token stop);

  const OutputLocation& location() const { return *location_; }
  /// The location, or the folder of the update, to which shards are written.
  const OutputLocation& target() const { return *target_; }
  /// Opens the store of finished data at the location.
  Result<StoreAndPath> open_finished() const;

  /// Makes a finished update visible, and deletes files that an earlier, killed publisher left
  /// behind.
  Status publish() const;
  /// Publishes, and returns the manifest if the wanted data is finished by now.
  Result<std::optional<MaterializedManifest>> find_finished(const MaterializedManifest& wanted) const;
  /// Lets target() be the folder of an update that leads to the wanted data.
  Status start_update(const MaterializedManifest& wanted);
  /// Records the job at target(). If `replaces_stale`, an update that was begun for another version
  /// of the data is deleted first; otherwise, and in a bucket, it is InvalidArgument.
  Result<UnfinishedFolder> open_target(const UnfinishedFolder::Job& job, bool replaces_stale) const;

 private:
  OutputJob(std::string folder, StorageOptions options, std::stop_token stop)
      : folder_(std::move(folder)), options_(std::move(options)), stop_(std::move(stop)) {}
  bool is_local() const;

  std::string folder_;
  StorageOptions options_;
  std::stop_token stop_;
  std::shared_ptr<OutputLocation> location_, target_;
  std::string update_below_;  ///< folder of an update in a bucket; empty if there is none
};

}  // namespace forebay
