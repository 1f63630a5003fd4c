#pragma once

#include "base/table_codec.h"
#include "forebay/result.h"

namespace forebay {

/// The codecs of Parquet and Arrow. The first call loads them from the module that was built with
/// the release of Arrow that is found (see find_arrow()). Unsupported, with a remedy, if there is no
/// Arrow, or no module for it. Any thread may call it.
Result<const TableCodecs*> load_table_codecs();

}  // namespace forebay
