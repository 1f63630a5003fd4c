#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/source.h"
#include "forebay/loader.h"
#include "forebay/materialize.h"
#include "format/materialized/manifest.h"
#include "pipeline/description.h"
#include "study/changes.h"
#include "study/trial.h"

namespace forebay {

/// Properties of the samples after a cut, inferred from a few of them.
struct DataProperties {
  std::shared_ptr<const Source> source;
  std::vector<int64_t> chunks;  ///< first rows of chunks, and the end; empty if read one by one
  std::vector<StoredField> fields;
  double bytes_a_row = 0;

  bool in_chunks() const { return !chunks.empty(); }
  /// Number of rows to load together: enough to amortise the overhead, few enough to be small
  /// compared with a shard.
  int64_t batch() const;
};

using OpenChangedLoader = std::function<Result<std::shared_ptr<Loader>>(const Changed&)>;

/// Runs the steps up to the cut for a few samples. InvalidArgument if the data set is empty, or if
/// a filter chooses rows of it.
Result<DataProperties> inspect_samples(const Description& description, size_t cut, StoredFormat format,
                                       const OpenChangedLoader& open, const TrialContext& context);

/// Returns the manifest of the data to write, without shards. `codecs_version` is
/// TableCodecs::version().
MaterializedManifest manifest_of(const Description& description, size_t cut, const DataProperties& data,
                                 const MaterializeOptions& options, const std::string& codecs_version);

/// Whether the finished data is the wanted one; with `any_version`, also of an earlier version of
/// the data.
bool is_finished_of(MaterializedManifest wanted, const MaterializedManifest& finished, bool any_version = false);

}  // namespace forebay
