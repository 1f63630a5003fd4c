#pragma once

#include <stop_token>
#include <string>

#include "base/table_codec.h"
#include "format/manifest.h"

namespace forebay {

/// Reads the rows of a manifest that is a Parquet file. Columns keep their types unless the
/// layout's `types` says otherwise. Columns whose values are not single numbers, bools or texts are
/// Unsupported. Errors name the column.
Result<ManifestTable> read_table_manifest(const StoreAndPath& at, const ObjectInfo& file, const ManifestLayout& layout,
                                          const TableCodecs& codecs, const std::stop_token& stop);

}  // namespace forebay
