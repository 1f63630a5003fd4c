#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace forebay {

/// Divides batches into more parts, as evenly as possible: each batch into parts whose rows differ
/// by at most one, and the batches into numbers of parts that differ by at most one unless a batch
/// has too few rows. `begin` and `ends` are the positions of consecutive batches. Returns the ends
/// of the parts, in order: `parts` of them, or as many as there are rows if these are fewer.
std::vector<int64_t> divide_batches(int64_t begin, std::span<const int64_t> ends, int64_t parts);

}  // namespace forebay
