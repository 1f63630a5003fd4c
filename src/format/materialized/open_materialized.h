#pragma once

#include <memory>
#include <stop_token>

#include "base/source.h"
#include "base/table_codec.h"
#include "format/files/open_store.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// Reads the manifest of a folder. If there is none, NotFound describes what the folder holds.
Result<MaterializedManifest> read_manifest(const StoreAndPath& folder, std::stop_token stop);

/// Opens what materialize() wrote to a folder: the samples or chunks of the original, with its ids
/// and its version. Reads and checks the indices of all shards; the shards are read when samples
/// are used. Waits.
Result<std::shared_ptr<const Source>> open_materialized(StoreAndPath folder, MaterializedManifest manifest,
                                                        const TableCodecs& codecs, std::stop_token stop);

}  // namespace forebay
