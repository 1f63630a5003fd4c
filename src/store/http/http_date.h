#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace forebay {

/// Parses "Sun, 06 Nov 1994 08:49:37 GMT", the form of a Date header. Returns nothing for times
/// before 1970. Times from 2200 on are cut to its beginning.
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text);

/// Parses "2013-05-24T00:00:00Z", with or without a fraction of a second, the form in which
/// credentials give their end. An offset such as "+02:00" may replace Z; without either the time is
/// UTC. The bounds are those of parse_http_date().
std::optional<std::chrono::system_clock::time_point> parse_iso_time(std::string_view text);

}  // namespace forebay
