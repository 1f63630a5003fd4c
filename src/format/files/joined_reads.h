#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/read_request.h"

namespace forebay {

/// Reads that cover `ranges` (ascending, disjoint) of an object whose size is known. Ranges close
/// to each other become one request; a long range becomes several.
std::vector<ReadRequest> joined_reads(const std::string& key, uint64_t object_size, std::span<const ByteRange> ranges);

}  // namespace forebay
