#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "base/value_places.h"
#include "format/webdataset/shard_chunks.h"

namespace forebay {

/// Returns the places of one field's files in their shards, by the saved indices of these. Takes 16
/// bytes a sample. A file that the sample lacks, has twice, or has as a dead link, has no place;
/// nor has one in a shard whose index is not saved, which a warning says. Empty if none is saved,
/// or if it is stopped. Waits.
ValuePlaces find_shard_places(std::shared_ptr<const ShardChunks> chunks, size_t field, std::stop_token stop);

}  // namespace forebay
