#pragma once

#include "base/columns.h"
#include "base/table_codec.h"

namespace forebay {

/// Reads the one record batch of an Arrow file. Corrupt if the file is malformed or has nulls.
Result<Columns> columns_of_index(const Buffer& file, const TableCodecs& codecs);

}  // namespace forebay
