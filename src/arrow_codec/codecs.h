#pragma once

#include "base/table_codec.h"

namespace forebay {

/// The codecs of Parquet files, Arrow files and Arrow streams, implemented with Arrow C++. The
/// object is never destroyed.
const TableCodecs& arrow_codecs();

}  // namespace forebay
