#pragma once

#include "base/table_codec.h"
#include "forebay/result.h"

namespace forebay {

/// The codecs of Parquet and Arrow, from the module libforebay_arrow.so, which the first call loads: see
/// function_of_module(). Unsupported, with the way out, where it or the Arrow libraries that it needs
/// are missing. From any thread.
Result<const TableCodecs*> load_table_codecs();

}  // namespace forebay
