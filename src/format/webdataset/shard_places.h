#pragma once

#include <cstddef>
#include <memory>

#include "base/value_places.h"
#include "format/webdataset/shard_chunks.h"

namespace forebay {

/// Returns the places of one field's files in their shards, by the saved indices of these. Takes 16
/// bytes a sample. A file that the sample lacks, has twice, or has as a dead link, has no place.
/// Empty if the index of a shard is not saved. Waits.
ValuePlaces find_shard_places(std::shared_ptr<const ShardChunks> chunks, size_t field);

}  // namespace forebay
