#pragma once

#include "base/columns.h"
#include "base/table_codec.h"

namespace forebay {

/// The one record batch of an Arrow file. Corrupt where it is not such a file, or has nulls.
Result<Columns> columns_of_index(const Buffer& file, const TableCodecs& codecs);

}  // namespace forebay
