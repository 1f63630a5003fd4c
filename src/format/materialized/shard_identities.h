#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/table_codec.h"

namespace forebay {

/// What the samples, or the chunks, of a shard were made of (Source::identity()), in order; nothing where nobody could tell. They say something of
/// times and inodes, so they stand apart from what is the same wherever it is written.
using ShardIdentities = std::vector<std::optional<Hash128>>;

/// An Arrow file with two columns of uint64, `high` and `low`; both 0 where nothing is known.
Result<Buffer> write_identities(const ShardIdentities& identities, const TableCodecs& codecs);
/// Of a file of so many; nothing known of all where it is not such a file.
ShardIdentities read_identities(const Buffer& file, size_t count, const TableCodecs& codecs);

}  // namespace forebay
