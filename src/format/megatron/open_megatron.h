#pragma once

#include <memory>
#include <stop_token>

#include "base/source.h"
#include "format/files/open_store.h"
#include "format/megatron/index.h"

namespace forebay {

/// Opens the indexed data set of Megatron-LM whose files are `place` with ".bin" and ".idx" behind.
/// Reads the whole .idx file, and waits for it; the samples of the .bin file are read one by one,
/// as ranges, from local files and from buckets alike.
///
/// Fields: `tokens`, a row of the data set's dtype, and `mode` (int8) for sequences if the index has
/// modes. The id is the number of the document or sequence. The version is a hash of the .idx file
/// and the size of the .bin file.
///
/// Errors: NotFound, naming the file; those of parse_megatron_index(); InvalidArgument for a data
/// set without a token.
Result<std::shared_ptr<const Source>> open_megatron(const StoreAndPath& place, MegatronUnit unit, std::stop_token stop);

}  // namespace forebay
