#include "forebay/materialize.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/unit_source.h"
#include "format/materialized/sample_tar.h"
#include "format/objects/open_store.h"
#include "format/table/load_codecs.h"
#include "loader/cache_place.h"
#include "loader/check.h"
#include "loader/materialized_steps.h"
#include "materialize/chosen_samples.h"
#include "materialize/cut.h"
#include "materialize/kept_samples.h"
#include "materialize/row_feed.h"
#include "materialize/shard_maker.h"
#include "materialize/shard_plan.h"
#include "materialize/stored_pictures.h"
#include "materialize/unfinished_folder.h"
#include "materialize/update_folder.h"
#include "runtime/host.h"
#include "study/trial.h"

namespace forebay {

namespace {

constexpr int64_t kLookedAt = 64;            // samples, before anything is planned
constexpr double kBatchBytes = 256 << 10;    // of samples of one shape
constexpr double kUnitBatchBytes = 4 << 20;  // of rows of a table
constexpr int64_t kMostInBatch = 65'536;
constexpr double kBetweenProgress = 0.2;  // seconds
constexpr int kQuality = 90;

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
    FOREBAY_RETURN_IF_ERROR(settle_update(folder_));
    FOREBAY_ASSIGN(cut_, find_cut(description_, options_, UnfinishedFolder::steps_of(folder_)));
    FOREBAY_RETURN_IF_ERROR(check_cut(description_, cut_));
    FOREBAY_ASSIGN(codecs_, load_table_codecs());
    FOREBAY_RETURN_IF_ERROR(look_at_some());
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> finished, UnfinishedFolder::finished(folder_));
    if (finished && is_this(*finished)) return what_is_there(*finished);
    if (finished) FOREBAY_RETURN_IF_ERROR(follow(*finished));
    Status written = begin();
    if (written.ok()) written = write_shards();
    if (written.ok()) written = end();
    if (written.ok()) return told();
    // Whoever else wrote the same may have finished, and cleared away, meanwhile.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> others, UnfinishedFolder::finished(folder_));
    if (!others || !is_this(*others)) return written;
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
    const std::optional<StoredFormat> format = stored_format(options_.format);
    if (!format)
      return invalid_argument(fmt::format("format is '{}'; it is arrow, parquet, wds or jpeg", options_.format));
    if (*format != StoredFormat::kJpeg && (options_.quality || options_.limit))
      return invalid_argument("quality and limit are for format=\"jpeg\"; others lose nothing");
    if (options_.quality && (*options_.quality < 1 || *options_.quality > 100))
      return invalid_argument(fmt::format("quality is {}; it is 1 to 100", *options_.quality));
    if (options_.limit && *options_.limit < 1)
      return invalid_argument(fmt::format("limit is {}; it is the longest side, 1 or more", *options_.limit));
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
    mark_encoded(fields_, format());
    loader->close();
    return check_fields();
  }

  bool in_units() const { return !units_.empty(); }
  StoredFormat format() const { return *stored_format(options_.format); }

  Status check_format() const {
    const bool tar = format() == StoredFormat::kWds || format() == StoredFormat::kJpeg;
    if (tar && in_units())
      return unsupported(
          fmt::format("format=\"{}\" is for samples that are read one by one, and this is a table; write "
                      "\"arrow\" or \"parquet\"",
                      options_.format));
    if (format() == StoredFormat::kParquet && !in_units())
      return unsupported(
          "format=\"parquet\" is for tables, and these samples are read one by one; write \"arrow\" or \"wds\"");
    const auto picture = [](const StoredField& stored) {
      return stored.encoded || (stored.field.image && stored.field.kind == FieldKind::kBytes);
    };
    if (format() == StoredFormat::kJpeg && std::none_of(fields_.begin(), fields_.end(), picture))
      return unsupported(
          "format=\"jpeg\": no field is a picture, encoded or of 8 bits in 1 or 3 channels; cut behind .decode_image() "
          "or "
          ".resize()");
    return tar ? check_tar_fields(fields_) : Status();
  }

  Status check_fields() {
    FOREBAY_RETURN_IF_ERROR(check_format());
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
    manifest.format = format();
    manifest.compression = options_.compression;
    if (manifest.lossy())
      manifest.quality = options_.quality.value_or(kQuality), manifest.limit = options_.limit.value_or(0);
    const StepsBefore before = steps_before(description_, cut_);
    manifest.steps = before.steps;
    manifest.order_at = before.order_at;
    manifest.version = source_->version();
    manifest.place = hash128(before.steps + codecs_->version());
    manifest.fields = fields_;
    return manifest;
  }

  // Of the same data, or of an earlier version of it.
  bool is_this(const MaterializedManifest& finished, bool any_version = false) const {
    MaterializedManifest same = manifest();
    same.shards = finished.shards;
    same.place = finished.place;  // another version of this library gives the same
    if (any_version) {
      same.version = finished.version, same.size = finished.size, same.fields = finished.fields;
      // Where the data lies may be said in another way: what it is made of says whether it is the same.
      if (same_but_source(same.steps, finished.steps)) same.steps = finished.steps;
    }
    return same.to_json() == finished.to_json();
  }

  Result<Materialized> what_is_there(const MaterializedManifest& finished) {
    shards_ = finished.shards;
    plan_.begins.resize(shards_.size() + 1);
    return told();
  }

  // What is finished there is of something else: to be updated, or left alone.
  Status follow(const MaterializedManifest& finished) {
    if (!is_this(finished, /*any_version=*/true))
      return invalid_argument(
                 "holds something else that was finished there: another pipeline, cut or format; give another "
                 "folder, or remove this one")
          .with_key(folder_);
    if (!options_.update)
      return invalid_argument(
                 "was made of another version of the data; give update=True (--update) to bring it up to date, where "
                 "only what is new is made, or another folder")
          .with_key(folder_);
    if (!url_scheme(folder_).empty() && url_scheme(folder_) != "file")
      return unsupported("is brought up to date in local folders only; write another one").with_key(folder_);
    target_ = update_folder(folder_);
    if (!description_.steps().front().attachment_name.empty()) return {};  // user code is asked by its own numbers
    FOREBAY_ASSIGN(StoreAndPath place, open_store(folder_));
    FOREBAY_ASSIGN(KeptSamples kept, KeptSamples::open(std::move(place), finished, fields_, *codecs_, options_.stop));
    kept_.emplace(std::move(kept));
    const auto* units = dynamic_cast<const UnitSource*>(source_.get());
    origins_ = Origins(in_units() ? units->units() : source_->size(), [&](int64_t number) {
      return kept_->find(in_units() ? units->unit_identity(number) : lasting_identity(number));
    });
    return {};
  }

  std::optional<Hash128> lasting_identity(int64_t id) const {
    const std::optional<Identity> identity = source_->identity(id);
    return identity && identity->lasting ? std::optional(identity->hash) : std::nullopt;
  }

  Result<UnfinishedFolder> open_target() const {
    const UnfinishedFolder::Job job{manifest().to_json(), plan_.to_json()};
    Result<UnfinishedFolder> folder = UnfinishedFolder::open(target_, job);
    if (folder.ok() || !options_.update || folder.status().code() != Code::kInvalidArgument) return folder;
    // Begun with another version of the data: nobody can go on with that.
    give_up_unfinished(folder_);
    return UnfinishedFolder::open(target_, job);
  }

  Status begin() {
    plan_ = plan_shards(source_->size(), units_, bytes_a_row_, options_.shards);
    FOREBAY_ASSIGN(UnfinishedFolder folder, open_target());
    unfinished_.emplace(std::move(folder));
    FOREBAY_ASSIGN(plan_, ShardPlan::from_json(unfinished_->job().how, source_->size()));
    // Whoever finished between the look at the folder and here has removed what says that shards are done.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> others, UnfinishedFolder::finished(folder_));
    if (others && is_this(*others)) return Status(Code::kUnavailable, "was finished meanwhile").with_key(folder_);
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
    const std::shared_ptr<const Source> fresh = origins_.any_kept() ? chosen_of(source_, origins_.fresh()) : source_;
    std::shared_ptr<Loader> loader;
    if (fresh->size() > 0) {
      FOREBAY_ASSIGN(loader, open(before_cut(description_, cut_, batch, fresh)));
    }
    RowFeed feed(loader, context_, batch);
    const MaterializedManifest what = manifest();
    ShardMaker maker({what, plan_, units_, *source_, *codecs_, origins_, kept_ ? &*kept_ : nullptr,
                      options_.loader.threads.value_or(usable_cores())},
                     feed, [&](int64_t samples) { advance(samples); });
    for (const int64_t shard : mine_) {
      Result<ShardFiles> files = maker.make(shard);
      if (!files.ok() && files.status().key().empty())
        return Status(files.status()).with_key(fmt::format("{}/{}", target_, shard_file(shard, format())));
      if (!files.ok()) return files.status();
      FOREBAY_ASSIGN(const StoredShard written, unfinished_->put(shard, rows_of(shard), *files));
      ++progress_.shards_done;
      progress_.bytes += written.bytes;
      tell(/*always=*/true);
    }
    if (loader) loader->close();
    return {};
  }

  Status end() {
    for (int64_t shard = 0; shard < plan_.shards(); ++shard) {
      const std::optional<StoredShard> done = unfinished_->done(shard);
      if (done) shards_.push_back(*done);
    }
    if (static_cast<int64_t>(shards_.size()) == plan_.shards()) {
      MaterializedManifest all = manifest();
      all.shards = shards_;
      FOREBAY_RETURN_IF_ERROR(unfinished_->finish(all));
      return settle_update(folder_);
    }
    // Somebody else has finished meanwhile, or has not yet.
    FOREBAY_ASSIGN(const std::optional<MaterializedManifest> finished, UnfinishedFolder::finished(folder_));
    if (finished && is_this(*finished)) shards_ = finished->shards;
    return {};
  }

  Materialized told() const {
    Materialized told;
    told.cut = description_.steps()[cut_].name;
    told.samples = source_->size();
    told.shards = plan_.shards();
    told.written = progress_.samples_done;
    told.reused = reused();
    for (const StoredShard& shard : shards_) told.bytes += shard.bytes;
    told.complete = static_cast<int64_t>(shards_.size()) == plan_.shards();
    told.seconds = seconds();
    const Changed behind = behind_cut(description_, cut_, folder_);
    told.pipeline = Pipeline(std::make_shared<const Description>(behind.description));
    told.steps = behind.steps;
    return told;
  }

  int64_t reused() const {
    int64_t samples = 0;
    for (const int64_t shard : mine_) {
      const int64_t end = plan_.begins[static_cast<size_t>(shard) + 1];
      if (!in_units())
        for (int64_t id = plan_.begins[static_cast<size_t>(shard)]; id < end; ++id)
          samples += origins_.kept(id) ? 1 : 0;
      if (in_units())
        for (size_t unit = 0; unit + 1 < units_.size(); ++unit)
          if (units_[unit] >= plan_.begins[static_cast<size_t>(shard)] && units_[unit] < end &&
              origins_.kept(static_cast<int64_t>(unit)))
            samples += units_[unit + 1] - units_[unit];
    }
    return samples;
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
  std::string target_ = folder_;     ///< where shards are written
  std::optional<KeptSamples> kept_;  ///< of an update: what is there
  Origins origins_;
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
