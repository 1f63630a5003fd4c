#pragma once

#include <memory>
#include <stop_token>

#include "base/source.h"
#include "base/table_codec.h"
#include "format/files/open_store.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// Reads the manifest. NotFound, saying what is there instead, where the folder has none.
Result<MaterializedManifest> read_manifest(const StoreAndPath& folder, std::stop_token stop);

/// What materialize() wrote to that folder: the samples, or the chunks, of the original, under its ids and its version. Reads the
/// indices of all shards, and checks them; the shards themselves when they are used.
Result<std::shared_ptr<const Source>> open_materialized(StoreAndPath folder, MaterializedManifest manifest,
                                                        const TableCodecs& codecs, std::stop_token stop);

}  // namespace forebay
