#pragma once

#include "base/table_codec.h"
#include "forebay/result.h"

namespace forebay {

/// The codecs of Parquet and Arrow, from the module libforebay_arrow.so, which is loaded at the first call and stays. From any thread.
/// It is looked for
///
///   1. in the folder that the environment variable FOREBAY_ARROW_DIR names,
///   2. beside the program or shared object that this code is in (the Python package has it beside its own),
///   3. in ../lib/python3.*/site-packages/forebay from there: a program in the bin folder of a virtual environment.
///
/// Unsupported, with the way out, where there is none or where the Arrow libraries that it needs are missing; asked again, it looks
/// again.
Result<const TableCodecs*> load_table_codecs();

}  // namespace forebay
