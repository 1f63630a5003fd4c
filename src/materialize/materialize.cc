#include "forebay/materialize.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "format/table/load_codecs.h"
#include "loader/compile/cache_place.h"
#include "loader/describe/check.h"
#include "loader/peers/distributed.h"
#include "materialize/check_format.h"
#include "materialize/cut.h"
#include "materialize/data_properties.h"
#include "materialize/interruptible_runner.h"
#include "materialize/output_job.h"
#include "materialize/progress_reporter.h"
#include "materialize/reuse_plan.h"
#include "materialize/row_feed.h"
#include "materialize/shard_maker.h"
#include "materialize/shard_plan.h"
#include "materialize/shard_putter.h"
#include "materialize/unfinished_folder.h"
#include "pipeline/op_spec.h"
#include "runtime/host.h"
#include "study/few_samples.h"
#include "study/trial.h"

namespace forebay {

namespace {

class Materialization {
 public:
  Materialization(const Pipeline& pipeline, std::string folder, MaterializeOptions options)
      : description_(pipeline.description()), folder_(std::move(folder)), options_(std::move(options)) {
    loader_options_.epochs.reset();
    loader_options_.job.rank = 0;
    loader_options_.job.world_size = 1;
  }

  // Does everything that precedes the first shard.
  Status open_job() {
    FOREBAY_RETURN_IF_ERROR(check_options(options_));
    FOREBAY_RETURN_IF_ERROR(check_parts(description_));
    FOREBAY_ASSIGN(rank_, find_rank_info(options_.rank, options_.world_size, process_environment()));
    FOREBAY_ASSIGN(OutputJob output, OutputJob::open(folder_, location_options(), stop_.get_token()));
    output_.emplace(std::move(output));
    FOREBAY_RETURN_IF_ERROR(runner_.run([&] { return output_->publish(); }));
    FOREBAY_ASSIGN(codecs_, load_table_codecs());
    Status prepared = prepare_at_cut();
    if (prepared.code() != Code::kInvalidArgument) return prepared;
    FOREBAY_ASSIGN(const bool another_cut, another_rank_chose_another_cut());
    return another_cut ? prepare_at_cut() : prepared;
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
    FOREBAY_RETURN_IF_ERROR(open_maker_if_needed());
    ShardPutter putter(*unfinished_, runner_);
    for (const int64_t shard : shards) {
      Result<ShardFiles> files = maker_->make(shard);
      if (!files.ok() && files.status().key().empty())
        return Status(files.status()).with_key(output_->target().name_of(shard_file(shard, format())));
      if (!files.ok()) return files.status();
      written_.push_back(shard);
      FOREBAY_ASSIGN(const auto before, putter.put(shard, rows_of(shard), std::move(*files)));
      if (before) progress_.add_shard(*before);
    }
    FOREBAY_ASSIGN(const auto last, putter.wait());
    if (last) progress_.add_shard(*last);
    return {};
  }

  Status open_maker_if_needed() { return maker_ || finished_ ? Status() : open_maker(); }

  Status write_unless_done(int64_t shard) {
    if (shard < 0 || shard >= shards())
      return invalid_argument(fmt::format("there is no shard {}: there are {}", shard, shards()));
    if (finished_) return {};
    FOREBAY_ASSIGN(const auto done, runner_.run([&] { return unfinished_->finished_shards({&shard, 1}); }));
    return done.front() ? Status() : write({&shard, 1});
  }

  // Writes the manifest if all shards are done.
  Result<Materialized> finish_job() {
    if (loader_) loader_->close();
    if (!finished_) FOREBAY_RETURN_IF_ERROR(runner_.run([&] { return write_manifest_if_complete(); }));
    return result();
  }

  // Another process may have finished the same data, and deleted `_unfinished`, while this one
  // failed.
  Result<Materialized> end_after_failure(const Status& failed) {
    if (!recording_begun_ || failed.code() == Code::kCancelled) return failed;
    const auto others = runner_.run([&] { return output_->find_finished(manifest()); });
    if (!others.ok() || !*others) return failed;
    adopt_finished(**others);
    return result();
  }

 private:
  const StorageOptions& location_options() const {
    return options_.url_options ? *options_.url_options : options_.loader.storage_options;
  }

  // Ranks that begin at once may each measure another cut as the best. The first one decides.
  Result<bool> another_rank_chose_another_cut() const {
    if (options_.cut != "best" || !recording_begun_) return false;
    FOREBAY_ASSIGN(const std::optional<std::string> steps, recorded_steps());
    const std::optional<size_t> their_cut = steps ? cut_of(description_, *steps) : std::nullopt;
    return their_cut && their_cut != cut_;
  }

  Result<std::optional<std::string>> recorded_steps() const {
    return runner_.run([&] { return UnfinishedFolder::steps_of(output_->target()); });
  }

  Status prepare_at_cut() {
    FOREBAY_ASSIGN(const std::optional<std::string> steps, recorded_steps());
    FOREBAY_ASSIGN(cut_, find_cut(description_, options_, steps));
    FOREBAY_RETURN_IF_ERROR(check_cut(description_, *cut_));
    if (options_.restart_markers) FOREBAY_RETURN_IF_ERROR(check_restart_markers(description_, *cut_));
    FOREBAY_ASSIGN(data_, inspect_samples(
                              description_, *cut_, format(),
                              [this](const Changed& changed) { return open_loader(changed); }, context_));
    FOREBAY_RETURN_IF_ERROR(check_format(options_, data_.fields, data_.in_chunks()));
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> finished,
                   runner_.run([&] { return UnfinishedFolder::finished(output_->location()); }));
    if (finished && is_finished_of(manifest(), *finished)) {
      adopt_finished(*finished);
      return {};
    }
    if (finished) FOREBAY_RETURN_IF_ERROR(update_from(*finished));
    recording_begun_ = true;
    return runner_.run([&] { return plan_and_record_job(); });
  }

  StoredFormat format() const { return *stored_format(options_.format); }

  MaterializedManifest manifest() const {
    return manifest_of(description_, *cut_, data_, options_, codecs_->version());
  }

  // Finished data has its own division into shards.
  void adopt_finished(const MaterializedManifest& finished) {
    shards_ = finished.shards;
    plan_.begins = {0};
    for (const StoredShard& shard : shards_) plan_.begins.push_back(plan_.begins.back() + shard.rows);
    own_shards_.clear();
    unfinished_shards_.clear();
    finished_ = true;
  }

  // Begins an update of finished data that differs from the wanted data, or fails.
  Status update_from(const MaterializedManifest& finished) {
    const bool same_steps = is_finished_of(manifest(), finished, /*any_version=*/true);
    FOREBAY_RETURN_IF_ERROR(check_may_replace(same_steps, options_.update).with_key(folder_));
    FOREBAY_RETURN_IF_ERROR(output_->start_update(manifest()));
    // User code is called by its own ids, so a source of only the new samples would be wrong.
    if (!description_.steps().front().attachment_name.empty()) return {};
    FOREBAY_ASSIGN(StoreAndPath folder, output_->open_finished());
    FOREBAY_ASSIGN(FinishedSamples reusable,
                   FinishedSamples::open(std::move(folder), finished, data_.fields, *codecs_, options_.stop));
    finished_samples_.emplace(std::move(reusable));
    reuse_ = reuse_plan_of(*data_.source, data_.in_chunks(), *finished_samples_);
    return {};
  }

  Status plan_and_record_job() {
    plan_ = plan_shards(data_.source->size(), data_.chunks, data_.bytes_a_row, options_.shards);
    FOREBAY_ASSIGN(UnfinishedFolder folder,
                   output_->open_target({manifest().to_json(), plan_.to_json()}, /*replaces_stale=*/options_.update));
    unfinished_.emplace(std::move(folder));
    FOREBAY_ASSIGN(plan_, ShardPlan::from_json(unfinished_->job().plan_json, data_.source->size()));
    // A process that finished since the last check has deleted the entries of finished shards.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> others, output_->find_finished(manifest()));
    if (others) {
      output_->target().clear();
      adopt_finished(*others);
      return {};
    }
    return divide_shards();
  }

  // Finds the shards that are not done, and those of them that this rank has to write.
  Status divide_shards() {
    FOREBAY_ASSIGN(const std::vector<std::optional<StoredShard>> done, unfinished_->finished_shards(all_shards()));
    MaterializeProgress job;
    job.shards = plan_.shards();
    for (const int64_t shard : all_shards()) {
      if (done[static_cast<size_t>(shard)]) {
        ++job.shards_done;
        continue;
      }
      unfinished_shards_.push_back(shard);
      // By the number among all shards, since ranks that begin at other times see other shards as
      // done.
      if (shard % rank_.world_size != rank_.rank) continue;
      own_shards_.push_back(shard);
      job.samples += rows_of(shard);
    }
    progress_.set_job(job);
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
      FOREBAY_ASSIGN(loader_, open_loader(before_cut(description_, *cut_, batch, fresh)));
    }
    feed_.emplace(loader_, context_, batch);
    manifest_ = manifest();
    maker_.emplace(ShardMaker::From{.manifest = manifest_,
                                    .plan = plan_,
                                    .chunks = data_.chunks,
                                    .source = *data_.source,
                                    .codecs = *codecs_,
                                    .reuse = reuse_,
                                    .finished = finished_samples_ ? &*finished_samples_ : nullptr,
                                    .threads = options_.loader.resources.threads.value_or(usable_cores())},
                   *feed_, [this](int64_t samples) { progress_.add_samples(samples); });
    return {};
  }

  Status write_manifest_if_complete() {
    FOREBAY_ASSIGN(const std::vector<std::optional<StoredShard>> done, unfinished_->finished_shards(all_shards()));
    shards_.clear();
    for (const std::optional<StoredShard>& shard : done)
      if (shard) shards_.push_back(*shard);
    if (static_cast<int64_t>(shards_.size()) == plan_.shards()) {
      MaterializedManifest all = manifest();
      all.shards = shards_;
      FOREBAY_RETURN_IF_ERROR(unfinished_->finish(all));
      return output_->publish();
    }
    // Other ranks have not finished yet, or have finished all in the meantime.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> finished, output_->find_finished(manifest()));
    if (finished) shards_ = finished->shards;
    return {};
  }

  Materialized result() const {
    Materialized result;
    result.cut = description_.steps()[*cut_].name;
    result.samples = data_.source->size();
    result.shards = plan_.shards();
    result.written = progress_.samples_done();
    result.reused = reused(written_);
    for (const StoredShard& shard : shards_) {
      result.shard_bytes.push_back(shard.bytes);
      result.bytes += shard.bytes;
    }
    result.complete = static_cast<int64_t>(shards_.size()) == plan_.shards();
    result.seconds = progress_.seconds();
    const Changed behind = pipeline_after_cut(description_, *cut_, folder_);
    result.pipeline = Pipeline(std::make_shared<const Description>(behind.description));
    result.steps = behind.steps;
    return result;
  }

  Result<std::shared_ptr<Loader>> open_loader(const Changed& changed) const {
    const Pipeline pipeline(std::make_shared<const Description>(changed.description));
    if (options_.open) return options_.open(pipeline, loader_options_, changed.steps);
    FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, loader_options_));
    return std::shared_ptr<Loader>(std::move(loader));
  }

  const Description description_;
  const std::string folder_;
  const MaterializeOptions options_;
  LoaderOptions loader_options_ = options_.loader;
  const TrialContext context_{{}, options_.stop, options_.poll};
  const std::stop_source stop_;  ///< stops calls to the output location
  const InterruptibleRunner runner_{context_, stop_};
  ProgressReporter progress_{options_.progress};
  std::optional<OutputJob> output_;  ///< set by open_job()
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
  bool recording_begun_ = false;     ///< the job was recorded, or the attempt failed
  bool finished_ = false;            ///< by this process or by others
  std::vector<int64_t> written_;     ///< shards that this run has written
  std::vector<StoredShard> shards_;  ///< all finished shards
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
  FOREBAY_RETURN_IF_ERROR(work->materialization.open_job());
  return std::unique_ptr<Materializer>(new Materializer(std::move(work)));
}

int64_t Materializer::shards() const { return work_->materialization.shards(); }
std::vector<int64_t> Materializer::left() const { return work_->materialization.left(); }
int64_t Materializer::samples(const std::vector<int64_t>& of) const { return work_->materialization.samples(of); }
int64_t Materializer::reused(const std::vector<int64_t>& of) const { return work_->materialization.reused(of); }
Status Materializer::begin() { return work_->materialization.open_maker_if_needed(); }
Status Materializer::write(int64_t shard) { return work_->materialization.write_unless_done(shard); }

Result<Materialized> Materializer::end() {
  Result<Materialized> made = work_->materialization.finish_job();
  return made.ok() ? std::move(made) : work_->materialization.end_after_failure(made.status());
}

Result<Materialized> materialize(const Pipeline& pipeline, const std::string& folder,
                                 const MaterializeOptions& options) {
  Materialization materialization(pipeline, folder, options);
  Status written = materialization.open_job();
  if (written.ok()) written = materialization.write(materialization.own_shards());
  if (!written.ok()) return materialization.end_after_failure(written);
  Result<Materialized> made = materialization.finish_job();
  return made.ok() ? std::move(made) : materialization.end_after_failure(made.status());
}

}  // namespace forebay
