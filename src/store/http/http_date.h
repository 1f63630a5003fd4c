#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace forebay {

/// "Sun, 06 Nov 1994 08:49:37 GMT", as servers give it in Date. Nothing before 1970; all from 2200 on is its beginning.
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text);

/// "2013-05-24T00:00:00Z", with or without a fraction of a second, as credentials state their end. "+02:00" in place of Z is such a clock;
/// where nothing stands there it is Z. The same bounds.
std::optional<std::chrono::system_clock::time_point> parse_iso_time(std::string_view text);

}  // namespace forebay
