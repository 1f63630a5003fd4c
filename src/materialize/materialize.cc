#include "forebay/materialize.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/unit_source.h"
#include "format/materialized/sample_shard.h"
#include "format/objects/open_store.h"
#include "format/table/load_codecs.h"
#include "loader/cache_place.h"
#include "loader/check.h"
#include "loader/materialized_steps.h"
#include "materialize/batch_rows.h"
#include "materialize/cut.h"
#include "materialize/row_feed.h"
#include "materialize/shard_plan.h"
#include "materialize/unfinished_folder.h"
#include "study/trial.h"

namespace forebay {

namespace {

constexpr int64_t kLookedAt = 64;            // samples, before anything is planned
constexpr double kBatchBytes = 256 << 10;    // of samples of one shape
constexpr double kUnitBatchBytes = 4 << 20;  // of rows of a table
constexpr int64_t kMostInBatch = 65'536;
constexpr double kBetweenProgress = 0.2;  // seconds

using OpenLoader = std::shared_ptr<Loader>;

class Materializing {
 public:
  Materializing(const Pipeline& pipeline, std::string folder, const MaterializeOptions& options)
      : description_(pipeline.description()), folder_(std::move(folder)), options_(options) {
    loader_options_.epochs.reset();
    loader_options_.rank = 0;
    loader_options_.world_size = 1;
  }

  Result<Materialized> run() {
    FOREBAY_RETURN_IF_ERROR(check_arguments());
    FOREBAY_ASSIGN(cut_, find_cut(description_, options_, UnfinishedFolder::steps_of(folder_)));
    FOREBAY_RETURN_IF_ERROR(check_cut(description_, cut_));
    FOREBAY_ASSIGN(codecs_, load_table_codecs());
    FOREBAY_RETURN_IF_ERROR(look_at_some());
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> finished, UnfinishedFolder::finished(folder_));
    if (finished) return what_is_there(*finished);
    Status written = begin();
    if (written.ok()) written = write_shards();
    if (written.ok()) written = end();
    if (written.ok()) return told();
    // Whoever else wrote the same may have finished, and cleared away, meanwhile.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> others, UnfinishedFolder::finished(folder_));
    if (!others) return written;
    return what_is_there(*others);
  }

 private:
  Status check_arguments() const {
    if (folder_.empty()) return invalid_argument("the folder's name is empty; say where to write");
    FOREBAY_ASSIGN(const UrlPlace place, parse_url(folder_));
    if (!place.store.empty())
      return unsupported(
                 "is no local folder, and materialised data is written to local folders only; write it there, and copy "
                 "it")
          .with_key(folder_);
    if (!options_.compression.empty() && options_.compression != "lz4" && options_.compression != "zstd")
      return invalid_argument(fmt::format("compression is '{}'; it is lz4, zstd or none", options_.compression));
    if (options_.shards && *options_.shards < 1) return invalid_argument("shards: give 1 or more");
    if (options_.world_size < 1 || options_.rank < 0 || options_.rank >= options_.world_size)
      return invalid_argument(
          fmt::format("rank {} of {}: ranks are counted from 0", options_.rank, options_.world_size));
    return {};
  }

  // What the samples look like behind the cut, and what they are made of.
  Status look_at_some() {
    const Changed some = before_cut(description_, cut_, 1, nullptr, kLookedAt);
    FOREBAY_ASSIGN(const OpenLoader loader, open(some));
    source_ = loader->opened().description().steps().front().opened;
    if (source_->size() == 0) return invalid_argument("the data set is empty: there is nothing to materialise");
    units_ = loader->row_groups();
    const auto* units = dynamic_cast<const UnitSource*>(source_.get());
    if (units != nullptr && units->kept_rows() != nullptr)
      return invalid_argument(
          "filter= chooses rows before the cut, and all rows are materialised; leave it out, and put a .filter() "
          "behind the cut");
    SeenSamples seen;
    FOREBAY_RETURN_IF_ERROR(pass_an_epoch(*loader, context_, [&](const Batch& batch) { seen.add(batch); }));
    bytes_a_row_ = static_cast<double>(seen.bytes()) / static_cast<double>(std::max<int64_t>(seen.samples(), 1));
    const Changed all = before_cut(description_, cut_, 1);
    const Inference inferred = infer(all.description, source_->schema(), catalog());
    fields_ = seen.fields(inferred.schemas[inferred.schemas.size() - 2]);  // before the batches
    loader->close();
    return check_fields();
  }

  bool in_units() const { return !units_.empty(); }

  Status check_fields() {
    for (StoredField& stored : fields_) {
      if (!in_units()) continue;
      stored.in_index = false;
      const Field& field = stored.field;
      if (field.kind == FieldKind::kTensor && !field.fixed_shape() && !is_ragged(field))
        return unsupported(
            fmt::format("the field '{}' has another shape in each row ({}), which a column cannot hold; cut behind a "
                        "step that gives all one shape",
                        field.name, field.to_string()));
      if (field.name == "id")
        return invalid_argument(
            "a column 'id' is written beside the fields, and one of them is called so; give it another name with "
            ".rename()");
    }
    if (!in_units() && !options_.compression.empty())
      return unsupported(
          "compression: samples that are read one by one are written as they are; it is for tables. Leave it out");
    return {};
  }

  MaterializedManifest manifest() const {
    MaterializedManifest manifest;
    manifest.layout = in_units() ? MaterializedManifest::Layout::kUnits : MaterializedManifest::Layout::kSamples;
    manifest.size = source_->size();
    manifest.compression = options_.compression;
    const StepsBefore before = steps_before(description_, cut_);
    manifest.steps = before.steps;
    manifest.order_at = before.order_at;
    manifest.version = source_->version();
    manifest.place = hash128(before.steps + codecs_->version());
    manifest.fields = fields_;
    return manifest;
  }

  Result<Materialized> what_is_there(const MaterializedManifest& finished) {
    MaterializedManifest same = manifest();
    same.shards = finished.shards;
    same.place = finished.place;  // another version of this library gives the same
    if (same.to_json() != finished.to_json())
      return invalid_argument(
                 "holds something else that was finished there: another pipeline, cut or version of the data; give "
                 "another "
                 "folder, or remove this one")
          .with_key(folder_);
    shards_ = finished.shards;
    plan_.begins.resize(shards_.size() + 1);
    return told();
  }

  Status begin() {
    plan_ = plan_shards(source_->size(), units_, bytes_a_row_, options_.shards);
    FOREBAY_ASSIGN(UnfinishedFolder folder, UnfinishedFolder::open(folder_, {manifest().to_json(), plan_.to_json()}));
    unfinished_.emplace(std::move(folder));
    FOREBAY_ASSIGN(plan_, ShardPlan::from_json(unfinished_->job().how, source_->size()));
    // Whoever finished between the look at the folder and here has removed what says that shards are done.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> others, UnfinishedFolder::finished(folder_));
    if (others) return Status(Code::kUnavailable, "was finished meanwhile").with_key(folder_);
    for (int64_t shard = 0; shard < plan_.shards(); ++shard) {
      if (unfinished_->done(shard)) {
        ++progress_.shards_done;
      } else if (shard % options_.world_size == options_.rank) {
        mine_.push_back(shard);
        progress_.samples += rows_of(shard);
      }
    }
    progress_.shards = plan_.shards();
    return {};
  }

  int64_t rows_of(int64_t shard) const {
    return plan_.begins[static_cast<size_t>(shard) + 1] - plan_.begins[static_cast<size_t>(shard)];
  }

  Status write_shards() {
    if (mine_.empty()) return {};
    const bool fixed =
        std::all_of(fields_.begin(), fields_.end(), [](const StoredField& field) { return field.field.fixed_shape(); });
    const double bytes = in_units() ? kUnitBatchBytes : (fixed ? kBatchBytes : 0);
    const auto batch =
        static_cast<int64_t>(std::clamp(bytes / std::max(bytes_a_row_, 1.0), 1.0, static_cast<double>(kMostInBatch)));
    FOREBAY_ASSIGN(const OpenLoader loader, open(before_cut(description_, cut_, batch, source_)));
    RowFeed feed(loader, context_, batch);
    for (const int64_t shard : mine_) {
      const int64_t first = plan_.begins[static_cast<size_t>(shard)];
      FOREBAY_RETURN_IF_ERROR(feed.go_to(first));
      FOREBAY_ASSIGN(const ShardFiles files, in_units() ? shard_of_units(feed, shard) : shard_of_samples(feed, shard));
      FOREBAY_ASSIGN(const StoredShard written, unfinished_->put(shard, rows_of(shard), files));
      ++progress_.shards_done;
      progress_.bytes += written.bytes;
      tell(/*always=*/true);
    }
    loader->close();
    return {};
  }

  Result<ShardFiles> shard_of_samples(RowFeed& feed, int64_t shard) {
    std::vector<Record> samples;
    const auto count = static_cast<size_t>(rows_of(shard));
    samples.reserve(count);
    while (samples.size() < count) {
      FOREBAY_ASSIGN(const RowFeed::Rows rows, feed.next(static_cast<int64_t>(count - samples.size())));
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        FOREBAY_ASSIGN(Record record, record_of(*rows.batch, row, fields_));
        samples.push_back(std::move(record));
      }
      advance(rows.end - rows.begin);
    }
    Result<ShardFiles> files = write_sample_shard(fields_, plan_.begins[static_cast<size_t>(shard)], samples, *codecs_);
    if (!files.ok()) return Status(files.status()).with_key(fmt::format("{}/{}", folder_, shard_file(shard)));
    return files;
  }

  Result<ShardFiles> shard_of_units(RowFeed& feed, int64_t shard) {
    const int64_t end = plan_.begins[static_cast<size_t>(shard) + 1];
    int64_t first = plan_.begins[static_cast<size_t>(shard)];
    std::vector<Columns> batches;
    while (first < end) {
      // Units of no rows have no batch; they begin where the next one does.
      const int64_t next = *std::upper_bound(units_.begin(), units_.end(), first);
      RowsTogether together(fields_);
      while (together.rows() < next - first) {
        FOREBAY_ASSIGN(const RowFeed::Rows rows, feed.next(next - first - together.rows()));
        FOREBAY_RETURN_IF_ERROR(together.add(*rows.batch, rows.begin, rows.end));
        advance(rows.end - rows.begin);
      }
      batches.push_back(together.take(first));
      first = next;
    }
    FOREBAY_ASSIGN(WrittenTable written, codecs_->write_arrow_file(batches, options_.compression));
    return ShardFiles{std::move(written.bytes), {}};
  }

  Status end() {
    for (int64_t shard = 0; shard < plan_.shards(); ++shard) {
      const std::optional<StoredShard> done = unfinished_->done(shard);
      if (done) shards_.push_back(*done);
    }
    if (static_cast<int64_t>(shards_.size()) == plan_.shards()) {
      MaterializedManifest all = manifest();
      all.shards = shards_;
      return unfinished_->finish(all);
    }
    // Somebody else has finished meanwhile, or has not yet.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> finished, UnfinishedFolder::finished(folder_));
    if (finished) shards_ = finished->shards;
    return {};
  }

  Materialized told() const {
    Materialized told;
    told.cut = description_.steps()[cut_].name;
    told.samples = source_->size();
    told.shards = plan_.shards();
    told.written = progress_.samples_done;
    for (const StoredShard& shard : shards_) told.bytes += shard.bytes;
    told.complete = static_cast<int64_t>(shards_.size()) == plan_.shards();
    told.seconds = seconds();
    const Changed behind = behind_cut(description_, cut_, folder_);
    told.pipeline = Pipeline(std::make_shared<const Description>(behind.description));
    told.steps = behind.steps;
    return told;
  }

  void advance(int64_t samples) {
    progress_.samples_done += samples;
    tell(/*always=*/false);
  }

  void tell(bool always) {
    if (!options_.progress || (!always && seconds() - told_at_ < kBetweenProgress)) return;
    told_at_ = progress_.seconds = seconds();
    options_.progress(progress_);
  }

  Result<OpenLoader> open(const Changed& changed) const {
    const Pipeline pipeline(std::make_shared<const Description>(changed.description));
    if (options_.open) return options_.open(pipeline, loader_options_, changed.steps);
    FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, loader_options_));
    return OpenLoader(std::move(loader));
  }

  double seconds() const { return static_cast<double>(monotonic_ns() - begun_ns_) * 1e-9; }

  const Description& description_;
  const std::string folder_;
  const MaterializeOptions& options_;
  LoaderOptions loader_options_ = options_.loader;
  const TrialContext context_{{}, options_.stop, options_.poll};
  const int64_t begun_ns_ = monotonic_ns();
  const TableCodecs* codecs_ = nullptr;
  size_t cut_ = 0;
  std::shared_ptr<const Source> source_;
  std::vector<int64_t> units_;  ///< where they begin, and the end; empty where samples are read one by one
  std::vector<StoredField> fields_;
  double bytes_a_row_ = 0;
  std::optional<UnfinishedFolder> unfinished_;
  ShardPlan plan_;
  std::vector<int64_t> mine_;
  std::vector<StoredShard> shards_;
  MaterializeProgress progress_;
  double told_at_ = 0;
};

}  // namespace

Result<Materialized> materialize(const Pipeline& pipeline, const std::string& folder,
                                 const MaterializeOptions& options) {
  return Materializing(pipeline, folder, options).run();
}

}  // namespace forebay
