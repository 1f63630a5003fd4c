#include "forebay/materialize.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "format/files/open_store.h"
#include "format/table/load_codecs.h"
#include "loader/compile/cache_place.h"
#include "loader/peers/distributed.h"
#include "materialize/background_calls.h"
#include "materialize/check_format.h"
#include "materialize/cut.h"
#include "materialize/data_properties.h"
#include "materialize/local_location.h"
#include "materialize/output_location.h"
#include "materialize/publish_bucket_update.h"
#include "materialize/reuse_plan.h"
#include "materialize/row_feed.h"
#include "materialize/shard_maker.h"
#include "materialize/shard_plan.h"
#include "materialize/shard_putter.h"
#include "materialize/unfinished_folder.h"
#include "materialize/update_folder.h"
#include "pipeline/op_spec.h"
#include "runtime/host.h"
#include "study/few_samples.h"
#include "study/trial.h"

namespace forebay {

namespace {

constexpr double kBetweenProgress = 0.2;  // seconds

class Materialization {
 public:
  Materialization(const Pipeline& pipeline, std::string folder, MaterializeOptions options)
      : description_(pipeline.description()), folder_(std::move(folder)), options_(std::move(options)) {
    loader_options_.epochs.reset();
    loader_options_.job.rank = 0;
    loader_options_.job.world_size = 1;
  }

  // Does everything that precedes the first shard.
  Status open() {
    FOREBAY_RETURN_IF_ERROR(check_options(options_));
    FOREBAY_ASSIGN(rank_, find_rank_info(options_.rank, options_.world_size, process_environment()));
    FOREBAY_ASSIGN(location_, OutputLocation::open(folder_, location_options(), stop_.get_token()));
    target_ = location_;
    FOREBAY_RETURN_IF_ERROR(in_background_([&] { return publish(); }));
    FOREBAY_ASSIGN(codecs_, load_table_codecs());
    Status begun = begin_at_cut();
    if (begun.code() != Code::kInvalidArgument || options_.cut != "best" || !begun_) return begun;
    // Ranks that begin at once may each measure another cut as the best. The first one
    // decides.
    FOREBAY_ASSIGN(const std::optional<std::string> steps,
                   in_background_([&] { return UnfinishedFolder::steps_of(*target_); }));
    const std::optional<size_t> their_cut = steps ? cut_of(description_, *steps) : std::nullopt;
    return their_cut && their_cut != cut_ ? begin_at_cut() : begun;
  }

  // Shards that this rank has to write.
  const std::vector<int64_t>& own_shards() const { return own_shards_; }
  std::vector<int64_t> left() const { return unfinished_shards_; }
  int64_t shards() const { return plan_.shards(); }
  int64_t samples(const std::vector<int64_t>& of) const {
    return std::accumulate(of.begin(), of.end(), int64_t{0}, [&](int64_t sum, int64_t shard) {
      return sum + (shard >= 0 && shard < shards() ? rows_of(shard) : 0);
    });
  }
  int64_t reused(const std::vector<int64_t>& of) const {
    int64_t samples = 0;
    for (const int64_t shard : of)
      if (shard >= 0 && shard < shards())
        samples += reuse_.reused_rows(begin_of(shard), begin_of(shard + 1), data_.chunks);
    return samples;
  }

  Status write(std::span<const int64_t> shards) {
    if (shards.empty()) return {};
    FOREBAY_RETURN_IF_ERROR(open_if_needed());
    ShardPutter putter(*unfinished_, in_background_);
    for (const int64_t shard : shards) {
      Result<ShardFiles> files = maker_->make(shard);
      if (!files.ok() && files.status().key().empty())
        return Status(files.status()).with_key(target_->name_of(shard_file(shard, format())));
      if (!files.ok()) return files.status();
      written_.push_back(shard);
      FOREBAY_ASSIGN(const auto before, putter.put(shard, rows_of(shard), std::move(*files)));
      count(before);
    }
    FOREBAY_ASSIGN(const auto last, putter.wait());
    count(last);
    return {};
  }

  Status open_if_needed() { return maker_ || finished_ ? Status() : open_maker(); }

  Status write_unless_done(int64_t shard) {
    if (shard < 0 || shard >= shards())
      return invalid_argument(fmt::format("there is no shard {}: there are {}", shard, shards()));
    if (finished_) return {};
    FOREBAY_ASSIGN(const auto done, in_background_([&] { return unfinished_->finished_shards({&shard, 1}); }));
    return done.front() ? Status() : write({&shard, 1});
  }

  // Writes the manifest if all shards are done.
  Result<Materialized> end() {
    if (loader_) loader_->close();
    if (!finished_) FOREBAY_RETURN_IF_ERROR(in_background_([&] { return finish(); }));
    return result();
  }

  // Another process may have finished the same data, and deleted `_unfinished`, while this one
  // failed.
  Result<Materialized> end_after_failure(const Status& failed) {
    if (!begun_ || failed.code() == Code::kCancelled) return failed;
    const auto others = in_background_([&] { return finished_by_others(); });
    if (!others.ok() || !*others) return failed;
    adopt_finished(**others);
    return result();
  }

 private:
  const StorageOptions& location_options() const {
    return options_.url_options ? *options_.url_options : options_.loader.storage_options;
  }
  bool is_local() const { return url_scheme(folder_).empty() || url_scheme(folder_) == "file"; }

  // Puts a finished update into the place of the old data.
  Status publish() const {
    if (is_local()) return publish_folder_update(location_->name());
    return update_below_.empty() ? erase_replaced(*location_)
                                 : publish_bucket_update(*location_, *target_, update_below_);
  }

  Status begin_at_cut() {
    FOREBAY_ASSIGN(const std::optional<std::string> steps,
                   in_background_([&] { return UnfinishedFolder::steps_of(*target_); }));
    FOREBAY_ASSIGN(cut_, find_cut(description_, options_, steps));
    FOREBAY_RETURN_IF_ERROR(check_cut(description_, *cut_));
    if (options_.restart_markers) FOREBAY_RETURN_IF_ERROR(check_restart_markers(description_, *cut_));
    FOREBAY_ASSIGN(
        data_, inspect_samples(
                   description_, *cut_, format(), [this](const Changed& changed) { return open(changed); }, context_));
    FOREBAY_RETURN_IF_ERROR(check_format(options_, data_.fields, data_.in_chunks()));
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> finished,
                   in_background_([&] { return UnfinishedFolder::finished(*location_); }));
    if (finished && is_finished_of(manifest(), *finished)) {
      adopt_finished(*finished);
      return {};
    }
    if (finished) FOREBAY_RETURN_IF_ERROR(update_from(*finished));
    begun_ = true;
    return in_background_([&] { return begin(); });
  }

  StoredFormat format() const { return *stored_format(options_.format); }

  MaterializedManifest manifest() const {
    return manifest_of(description_, *cut_, data_, options_, codecs_->version());
  }

  void adopt_finished(const MaterializedManifest& finished) {
    shards_ = finished.shards;
    plan_.begins.resize(shards_.size() + 1);
    own_shards_.clear();
    unfinished_shards_.clear();
    finished_ = true;
  }

  // Returns the manifest if this data is finished by now.
  Result<std::optional<MaterializedManifest>> finished_by_others() const {
    FOREBAY_RETURN_IF_ERROR(publish());
    FOREBAY_ASSIGN(std::optional<MaterializedManifest> finished, UnfinishedFolder::finished(*location_));
    if (finished && !is_finished_of(manifest(), *finished)) finished.reset();
    return finished;
  }

  // Begins an update of finished data that differs from the wanted data, or fails.
  Status update_from(const MaterializedManifest& finished) {
    const bool same_steps = is_finished_of(manifest(), finished, /*any_version=*/true);
    FOREBAY_RETURN_IF_ERROR(check_may_replace(same_steps, options_.update).with_key(folder_));
    FOREBAY_RETURN_IF_ERROR(start_update());
    // User code is called by its own ids, so a source of only the new samples would be wrong.
    if (!description_.steps().front().attachment_name.empty()) return {};
    FOREBAY_ASSIGN(StoreAndPath folder, open_store(folder_, is_local() ? StorageOptions() : location_options()));
    FOREBAY_ASSIGN(FinishedSamples reusable,
                   FinishedSamples::open(std::move(folder), finished, data_.fields, *codecs_, options_.stop));
    finished_samples_.emplace(std::move(reusable));
    reuse_ = reuse_plan_of(*data_.source, data_.in_chunks(), *finished_samples_);
    return {};
  }

  Status start_update() {
    if (is_local()) {
      target_ = local_location(update_folder(location_->name()));
      return begin_update(location_->name());
    }
    update_below_ = update_below(manifest());
    const std::string url = folder_.ends_with('/') ? folder_ : folder_ + "/";
    FOREBAY_ASSIGN(target_, OutputLocation::open(url + update_below_, location_options(), stop_.get_token()));
    return {};
  }

  Result<UnfinishedFolder> open_target() const {
    const UnfinishedFolder::Job job{manifest().to_json(), plan_.to_json()};
    Result<UnfinishedFolder> folder = UnfinishedFolder::open(target_, job);
    const bool another = folder.status().code() == Code::kInvalidArgument;
    if (!another || !options_.update || !is_local()) return folder;
    // It was begun with another version of the data, so its shards are useless.
    delete_unfinished(location_->name());
    return UnfinishedFolder::open(target_, job);
  }

  Status begin() {
    plan_ = plan_shards(data_.source->size(), data_.chunks, data_.bytes_a_row, options_.shards);
    FOREBAY_ASSIGN(UnfinishedFolder folder, open_target());
    unfinished_.emplace(std::move(folder));
    FOREBAY_ASSIGN(plan_, ShardPlan::from_json(unfinished_->job().plan_json, data_.source->size()));
    // A process that finished since the last check has deleted the entries of finished shards.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> others, finished_by_others());
    if (others) {
      target_->clear();
      adopt_finished(*others);
      return {};
    }
    return divide_shards();
  }

  // Finds the shards that are not done, and those of them that this rank has to write.
  Status divide_shards() {
    FOREBAY_ASSIGN(const std::vector<std::optional<StoredShard>> done, unfinished_->finished_shards(all_shards()));
    for (const int64_t shard : all_shards()) {
      if (done[static_cast<size_t>(shard)]) {
        ++progress_.shards_done;
        continue;
      }
      unfinished_shards_.push_back(shard);
      // By the number among all shards, since ranks that begin at other times see other shards as
      // done.
      if (shard % rank_.world_size != rank_.rank) continue;
      own_shards_.push_back(shard);
      progress_.samples += rows_of(shard);
    }
    progress_.shards = plan_.shards();
    return {};
  }

  std::vector<int64_t> all_shards() const {
    std::vector<int64_t> all(static_cast<size_t>(plan_.shards()));
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }

  int64_t begin_of(int64_t shard) const { return plan_.begins[static_cast<size_t>(shard)]; }
  int64_t rows_of(int64_t shard) const { return begin_of(shard + 1) - begin_of(shard); }

  Status open_maker() {
    const int64_t batch = data_.batch();
    const std::shared_ptr<const Source> fresh =
        reuse_.any_reused() ? subset_of(data_.source, reuse_.fresh()) : data_.source;
    if (fresh->size() > 0) {
      FOREBAY_ASSIGN(loader_, open(before_cut(description_, *cut_, batch, fresh)));
    }
    feed_.emplace(loader_, context_, batch);
    manifest_ = manifest();
    maker_.emplace(ShardMaker::From{manifest_, plan_, data_.chunks, *data_.source, *codecs_, reuse_,
                                    finished_samples_ ? &*finished_samples_ : nullptr,
                                    options_.loader.resources.threads.value_or(usable_cores())},
                   *feed_, [this](int64_t samples) { advance(samples); });
    return {};
  }

  void count(const std::optional<StoredShard>& written) {
    if (!written) return;
    ++progress_.shards_done;
    progress_.bytes += written->bytes;
    report_progress(/*always=*/true);
  }

  Status finish() {
    FOREBAY_ASSIGN(const std::vector<std::optional<StoredShard>> done, unfinished_->finished_shards(all_shards()));
    shards_.clear();
    for (const std::optional<StoredShard>& shard : done)
      if (shard) shards_.push_back(*shard);
    if (static_cast<int64_t>(shards_.size()) == plan_.shards()) {
      MaterializedManifest all = manifest();
      all.shards = shards_;
      FOREBAY_RETURN_IF_ERROR(unfinished_->finish(all));
      return publish();
    }
    // Other ranks have not finished yet, or have finished all in the meantime.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> finished, finished_by_others());
    if (finished) shards_ = finished->shards;
    return {};
  }

  Materialized result() const {
    Materialized result;
    result.cut = description_.steps()[*cut_].name;
    result.samples = data_.source->size();
    result.shards = plan_.shards();
    result.written = progress_.samples_done;
    result.reused = reused(written_);
    for (const StoredShard& shard : shards_) result.shard_bytes.push_back(shard.bytes), result.bytes += shard.bytes;
    result.complete = static_cast<int64_t>(shards_.size()) == plan_.shards();
    result.seconds = seconds();
    const Changed behind = pipeline_after_cut(description_, *cut_, folder_);
    result.pipeline = Pipeline(std::make_shared<const Description>(behind.description));
    result.steps = behind.steps;
    return result;
  }

  void advance(int64_t samples) {
    progress_.samples_done += samples;
    report_progress(/*always=*/false);
  }

  void report_progress(bool always) {
    if (!options_.progress || (!always && seconds() - reported_at_ < kBetweenProgress)) return;
    reported_at_ = progress_.seconds = seconds();
    options_.progress(progress_);
  }

  Result<std::shared_ptr<Loader>> open(const Changed& changed) const {
    const Pipeline pipeline(std::make_shared<const Description>(changed.description));
    if (options_.open) return options_.open(pipeline, loader_options_, changed.steps);
    FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, loader_options_));
    return std::shared_ptr<Loader>(std::move(loader));
  }

  double seconds() const { return static_cast<double>(monotonic_ns() - begun_ns_) * 1e-9; }

  const Description description_;
  const std::string folder_;
  const MaterializeOptions options_;
  LoaderOptions loader_options_ = options_.loader;
  const TrialContext context_{{}, options_.stop, options_.poll};
  const int64_t begun_ns_ = monotonic_ns();
  const std::stop_source stop_;  ///< stops calls to the output location
  const BackgroundCalls in_background_{context_, stop_};
  std::shared_ptr<OutputLocation> location_, target_;  ///< target_ receives the shards
  std::string update_below_;                           ///< folder of an update in a bucket
  RankInfo rank_;
  const TableCodecs* codecs_ = nullptr;
  std::optional<size_t> cut_;
  DataProperties data_;
  std::optional<FinishedSamples> finished_samples_;  ///< finished data that an update reuses
  ReusePlan reuse_;
  std::optional<UnfinishedFolder> unfinished_;
  ShardPlan plan_;
  std::vector<int64_t> unfinished_shards_, own_shards_;  ///< unfinished shards; those of this rank
  std::shared_ptr<Loader> loader_;
  std::optional<RowFeed> feed_;
  MaterializedManifest manifest_;
  std::optional<ShardMaker> maker_;
  bool begun_ = false, finished_ = false;
  std::vector<int64_t> written_;
  std::vector<StoredShard> shards_;
  MaterializeProgress progress_;
  double reported_at_ = 0;
};

}  // namespace

struct Materializer::Work {
  Materialization materialization;
};

Materializer::Materializer(std::unique_ptr<Work> work) : work_(std::move(work)) {}
Materializer::~Materializer() = default;

Result<std::unique_ptr<Materializer>> Materializer::open(const Pipeline& pipeline, const std::string& folder,
                                                         const MaterializeOptions& options) {
  MaterializeOptions alone = options;
  alone.rank = 0;
  alone.world_size = 1;
  alone.progress = {};
  auto work = std::unique_ptr<Work>(new Work{Materialization(pipeline, folder, std::move(alone))});
  FOREBAY_RETURN_IF_ERROR(work->materialization.open());
  return std::unique_ptr<Materializer>(new Materializer(std::move(work)));
}

int64_t Materializer::shards() const { return work_->materialization.shards(); }
std::vector<int64_t> Materializer::left() const { return work_->materialization.left(); }
int64_t Materializer::samples(const std::vector<int64_t>& of) const { return work_->materialization.samples(of); }
int64_t Materializer::reused(const std::vector<int64_t>& of) const { return work_->materialization.reused(of); }
Status Materializer::begin() { return work_->materialization.open_if_needed(); }
Status Materializer::write(int64_t shard) { return work_->materialization.write_unless_done(shard); }

Result<Materialized> Materializer::end() {
  Result<Materialized> made = work_->materialization.end();
  return made.ok() ? std::move(made) : work_->materialization.end_after_failure(made.status());
}

Result<Materialized> materialize(const Pipeline& pipeline, const std::string& folder,
                                 const MaterializeOptions& options) {
  Materialization materialization(pipeline, folder, options);
  Status written = materialization.open();
  if (written.ok()) written = materialization.write(materialization.own_shards());
  if (!written.ok()) return materialization.end_after_failure(written);
  Result<Materialized> made = materialization.end();
  return made.ok() ? std::move(made) : materialization.end_after_failure(made.status());
}

}  // namespace forebay
