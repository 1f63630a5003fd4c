#pragma once

#include <string>
#include <string_view>

namespace forebay {

/// Percent-encoding as signatures want it: all but letters, digits and "-._~"; '/' stays where `keep_slash`.
std::string percent_encode(std::string_view text, bool keep_slash);

/// The bytes behind an encoding-type=url listing: "%2F" and, for a space, "+". A '%' that no two hexadecimal digits follow
/// stays as it is.
std::string percent_decode_listing(std::string_view text);

}  // namespace forebay
