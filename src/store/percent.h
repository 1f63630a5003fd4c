#pragma once

#include <string>
#include <string_view>

namespace forebay {

/// Percent-encodes as signatures require: all but letters, digits and "-._~". '/' stays if
/// `keep_slash`.
std::string percent_encode(std::string_view text, bool keep_slash);

/// Decodes a name of an encoding-type=url listing: "%2F" and, for a space, "+". A '%' without two
/// hexadecimal digits after it stays as it is.
std::string percent_decode_listing(std::string_view text);

}  // namespace forebay
