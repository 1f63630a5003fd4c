#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

// Offsets that are whole numbers: positions in files, sequence numbers. Their text is the shortest
// decimal form.

/// Nothing if the text is no such number, or the number is below `least`.
std::optional<uint64_t> number_of_offset(std::string_view offset, uint64_t least = 0);
/// InvalidArgument if it is no such offset; the message names `of`.
Status check_number_offset(std::string_view offset, const std::string& of, uint64_t least = 0);
/// See RecordLog::compare(), for offsets that are numbers.
int compare_number_offsets(std::string_view a, std::string_view b);

}  // namespace forebay
