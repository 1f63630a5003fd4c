#pragma once

#include <cstdint>
#include <vector>

#include "base/source.h"
#include "forebay/loader.h"

namespace forebay {

/// Describes the fields of a source, in its order.
std::vector<FieldDescription> describe_fields(const Source& source);
/// Returns the first id of each row group, and then the number of rows. Empty without row groups.
std::vector<int64_t> row_group_begins(const Source& source);
/// Returns the decoded bytes of each row group. Empty without row groups.
std::vector<uint64_t> row_group_bytes(const Source& source);

}  // namespace forebay
