#pragma once

#include "base/table_codec.h"

namespace forebay {

/// Parquet files, Arrow files and Arrow streams, read with Arrow C++. Lives for ever.
const TableCodecs& arrow_codecs();

}  // namespace forebay
