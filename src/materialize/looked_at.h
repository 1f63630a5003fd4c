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

/// What some samples say of all that stand behind a cut.
struct LookedAt {
  std::shared_ptr<const Source> source;
  std::vector<int64_t> chunks;  ///< where they begin, and the end; empty where samples are read one by one
  std::vector<StoredField> fields;
  double bytes_a_row = 0;

  bool in_chunks() const { return !chunks.empty(); }
  /// Rows that are loaded together: enough that their number costs nothing, few enough that they are small beside a shard.
  int64_t batch() const;
};

using OpenChangedLoader = std::function<Result<std::shared_ptr<Loader>>(const Changed&)>;

/// Runs the steps up to the cut for a few samples. InvalidArgument for a data set that is empty, or of which rows were chosen.
Result<LookedAt> look_at_some(const Description& description, size_t cut, StoredFormat format,
                              const OpenChangedLoader& open, const TrialContext& context);

/// What is to be made of it, without shards. `codecs_version`: TableCodecs::version().
MaterializedManifest manifest_of(const Description& description, size_t cut, const LookedAt& data,
                                 const MaterializeOptions& options, const std::string& codecs_version);

/// Whether what is finished is that; `any_version`: or the same of an earlier version of the data.
bool is_finished_of(MaterializedManifest wanted, const MaterializedManifest& finished, bool any_version = false);

}  // namespace forebay
