#pragma once

#include <cstdint>
#include <vector>

#include "base/source.h"
#include "forebay/loader.h"

namespace forebay {

/// The fields that a source has, in its order.
std::vector<FieldDescription> describe_fields(const Source& source);
/// First ids of its row groups, and the number of rows; nothing where it has none.
std::vector<int64_t> row_group_begins(const Source& source);
/// Returns the bytes of the columns of each row group; nothing where there are none.
std::vector<uint64_t> row_group_bytes(const Source& source);

}  // namespace forebay
