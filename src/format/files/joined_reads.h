#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/read_request.h"

namespace forebay {

/// Reads that cover `ranges` (ascending, apart) of an object whose size is known: ranges close to each other become one request, long
/// ones several.
std::vector<ReadRequest> joined_reads(const std::string& key, uint64_t object_size, std::span<const ByteRange> ranges);

}  // namespace forebay
