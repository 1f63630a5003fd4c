#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/table_codec.h"

namespace forebay {

/// The identities (Source::identity()) of the samples or chunks that a shard was made from, in
/// order; nullopt if one was not known. They depend on times and inodes, so they are stored apart
/// from the data, which is the same wherever it is written.
using ShardIdentities = std::vector<std::optional<Hash128>>;

/// Writes an Arrow file with two uint64 columns, `high` and `low`. Both are 0 for an unknown
/// identity.
Result<Buffer> write_identities(const ShardIdentities& identities, const TableCodecs& codecs);
/// Reads a file of `count` identities. If it is malformed, all of them are unknown.
ShardIdentities read_identities(const Buffer& file, size_t count, const TableCodecs& codecs);

}  // namespace forebay
