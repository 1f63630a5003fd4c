#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

// Offsets that are whole numbers, as decimal text in the one shortest form: positions in files, sequence numbers.

/// Nothing where it is none, or below `least`.
std::optional<uint64_t> number_of_offset(std::string_view offset, uint64_t least = 0);
/// InvalidArgument, saying of what it is no offset.
Status check_number_offset(std::string_view offset, const std::string& of, uint64_t least = 0);
/// As RecordLog::compare(), for offsets that are numbers.
int compare_number_offsets(std::string_view a, std::string_view b);

}  // namespace forebay
