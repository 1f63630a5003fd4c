#pragma once

#include "base/table_codec.h"
#include "forebay/result.h"

namespace forebay {

/// The codecs of Parquet and Arrow. The first call loads them from the module libforebay_arrow.so
/// (see function_of_module()). Unsupported, with a remedy, if the module or the Arrow libraries
/// that it needs are missing. Any thread may call it.
Result<const TableCodecs*> load_table_codecs();

}  // namespace forebay
