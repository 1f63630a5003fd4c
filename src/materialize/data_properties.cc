#include "materialize/data_properties.h"

#include <algorithm>

#include "base/chunk_source.h"
#include "loader/describe/check.h"
#include "loader/describe/materialized_steps.h"
#include "materialize/cut.h"
#include "materialize/sample_summary.h"
#include "materialize/stored_pictures.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

constexpr int64_t kSampledRows = 64;          // samples
constexpr double kBatchBytes = 256 << 10;     // bytes of samples of one shape
constexpr double kChunkBatchBytes = 4 << 20;  // bytes of rows of a table
constexpr int64_t kMaxInBatch = 65'536;
constexpr int kQuality = 90;

}  // namespace

int64_t DataProperties::batch() const {
  const bool fixed = std::ranges::all_of(fields, [](const StoredField& field) { return field.field.fixed_shape(); });
  const double bytes = in_chunks() ? kChunkBatchBytes : (fixed ? kBatchBytes : 0);
  return static_cast<int64_t>(std::clamp(bytes / std::max(bytes_a_row, 1.0), 1.0, static_cast<double>(kMaxInBatch)));
}

Result<DataProperties> inspect_samples(const Description& description, size_t cut, StoredFormat format,
                                       const OpenChangedLoader& open, const TrialContext& context) {
  DataProperties data;
  FOREBAY_ASSIGN(const std::shared_ptr<Loader> loader, open(before_cut(description, cut, 1, nullptr, kSampledRows)));
  SampleSummary summary;
  FOREBAY_RETURN_IF_ERROR(pass_epoch(*loader, context, [&](const Batch& batch) { summary.add(batch); }));
  // Taken now, since the parts of a zip may choose their samples in passes.
  data.source = loader->opened().description().steps().front().opened;
  if (data.source->size() == 0) return invalid_argument("the data set is empty: there is nothing to materialise");
  data.chunks = loader->row_groups();
  const auto* chunks = data.source->as_chunks();
  if (chunks != nullptr && chunks->kept_rows() != nullptr)
    return invalid_argument(
        "filter=, or a zip of a table that drops rows without partners, chooses rows before the cut, and all rows are "
        "materialised; leave it out, and put a .filter() behind the cut");
  data.bytes_a_row =
      static_cast<double>(summary.bytes()) / static_cast<double>(std::max<int64_t>(summary.samples(), 1));
  const std::vector<Branch> branches = branches_of(before_cut(description, cut, 1).description);
  const Inference inferred = infer(branches.front().description, data.source->schema(), catalog());
  data.fields = summary.fields(inferred.schemas[inferred.schemas.size() - 2]);  // before .batch()
  mark_encoded(data.fields, format);
  for (StoredField& field : data.fields) field.in_index = field.in_index && !data.in_chunks();
  loader->close();
  return data;
}

MaterializedManifest manifest_of(const Description& description, size_t cut, const DataProperties& data,
                                 const MaterializeOptions& options, const std::string& codecs_version) {
  MaterializedManifest manifest;
  manifest.layout = data.in_chunks() ? MaterializedManifest::Layout::kChunks : MaterializedManifest::Layout::kSamples;
  manifest.size = data.source->size();
  manifest.format = *stored_format(options.format);
  manifest.compression = options.compression;
  manifest.restart_markers = options.restart_markers;
  if (manifest.lossy())
    manifest.quality = options.quality.value_or(kQuality), manifest.limit = options.limit.value_or(0);
  const StepsBefore before = steps_before(description, cut);
  manifest.steps = before.steps;
  manifest.order_at = before.order_at;
  manifest.version = data.source->version();
  manifest.place = hash128(before.steps + codecs_version);
  manifest.fields = data.fields;
  return manifest;
}

bool is_finished_of(MaterializedManifest wanted, const MaterializedManifest& finished, bool any_version) {
  wanted.shards = finished.shards;
  wanted.below = finished.below;
  wanted.place = finished.place;  // other versions of this library give the same data
  if (any_version) {
    wanted.version = finished.version, wanted.size = finished.size, wanted.fields = finished.fields;
    // The place of the data may be written in another way; its content shows whether it is the
    // same.
    if (same_but_source(wanted.steps, finished.steps)) wanted.steps = finished.steps;
  }
  return wanted.to_json() == finished.to_json();
}

}  // namespace forebay
