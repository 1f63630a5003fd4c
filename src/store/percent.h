#pragma once

#include <string>
#include <string_view>

namespace forebay {

/// Percent-encodes a name or value as signatures require: everything except letters, digits and
/// "-._~".
std::string percent_encode(std::string_view text);
/// Does the same for a path, whose slashes stay.
std::string percent_encode_path(std::string_view path);

/// Decodes a name of an encoding-type=url listing: "%2F" and, for a space, "+". A '%' without two
/// hexadecimal digits after it stays as it is.
std::string percent_decode_listing(std::string_view text);

}  // namespace forebay
