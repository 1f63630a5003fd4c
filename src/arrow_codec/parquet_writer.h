#pragma once

#include <span>
#include <string>

#include "base/columns.h"
#include "base/table_codec.h"

namespace forebay {

/// Implements TableCodecs::write_parquet_file().
Result<Buffer> write_parquet_columns(std::span<const Columns> groups, const std::string& compression);

}  // namespace forebay
