#include "materialize/output_job.h"

#include <utility>

#include "materialize/data_properties.h"
#include "materialize/local_location.h"
#include "materialize/publish_bucket_update.h"
#include "materialize/update_folder.h"

namespace forebay {

Result<OutputJob> OutputJob::open(std::string folder, StorageOptions options, std::stop_token stop) {
  OutputJob job(std::move(folder), std::move(options), std::move(stop));
  FOREBAY_ASSIGN(job.location_, OutputLocation::open(job.folder_, job.options_, job.stop_));
  job.target_ = job.location_;
  return job;
}

bool OutputJob::is_local() const { return url_scheme(folder_).empty() || url_scheme(folder_) == "file"; }

Result<StoreAndPath> OutputJob::open_finished() const {
  return open_store(folder_, is_local() ? StorageOptions() : options_);
}

Status OutputJob::publish() const {
  if (is_local()) return publish_folder_update(location_->name());
  return update_below_.empty() ? erase_replaced(*location_)
                               : publish_bucket_update(*location_, *target_, update_below_);
}

Result<std::optional<MaterializedManifest>> OutputJob::find_finished(const MaterializedManifest& wanted) const {
  FOREBAY_RETURN_IF_ERROR(publish());
  FOREBAY_ASSIGN(std::optional<MaterializedManifest> finished, UnfinishedFolder::finished(*location_));
  if (finished && !is_finished_of(wanted, *finished)) finished.reset();
  return finished;
}

Status OutputJob::start_update(const MaterializedManifest& wanted) {
  if (is_local()) {
    target_ = local_location(update_folder(location_->name()));
    return begin_update(location_->name());
  }
  update_below_ = update_below(wanted);
  const std::string url = folder_.ends_with('/') ? folder_ : folder_ + "/";
  FOREBAY_ASSIGN(target_, OutputLocation::open(url + update_below_, options_, stop_));
  return {};
}

Result<UnfinishedFolder> OutputJob::open_target(const UnfinishedFolder::Job& job, bool replaces_stale) const {
  Result<UnfinishedFolder> folder = UnfinishedFolder::open(target_, job);
  const bool another = folder.status().code() == Code::kInvalidArgument;
  if (!another || !replaces_stale || !is_local()) return folder;
  // It was begun with another version of the data, so its shards are useless.
  delete_unfinished(location_->name());
  return UnfinishedFolder::open(target_, job);
}

}  // namespace forebay
