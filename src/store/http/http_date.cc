#include "store/http/http_date.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace forebay {

namespace {

constexpr int kLastYear = 2200;

std::optional<std::chrono::system_clock::time_point> time_of(int year, unsigned month, unsigned day, int hour,
                                                             int minute, int second) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  // 60: a leap second (RFC 9110, section 5.6.7).
  const bool valid = date.ok() && hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 61;
  // Times before the epoch come from clocks that were never set, or from zeros that mean "none".
  if (!valid || year < 1970) return std::nullopt;
  // Some programs write the year 9999 for "forever". Nanoseconds in 64 bits end in 2262, and sums
  // with them must not overflow either.
  if (year >= kLastYear) return sys_days(std::chrono::year(kLastYear) / January / 1);
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
}

/// Parses how far a clock labelled "Z", "+02:00" or "-0530" is ahead of UTC; no label means "Z".
std::optional<std::chrono::minutes> zone_of(std::string_view text) {
  if (text.empty() || text == "Z" || text == "z") return std::chrono::minutes(0);
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  const bool behind = text.front() == '-';
  std::string digits(text.substr(1));
  if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
  if (digits.size() != 4 || digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const int number = std::stoi(digits);
  const std::chrono::minutes ahead(number / 100 * 60 + number % 100);
  return behind ? -ahead : ahead;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char name[4] = {};
  int day = 0, year = 0, hour = 0, minute = 0, second = 0;
  const std::string copy(text);
  // IMF-fixdate (RFC 9110, section 5.6.7), the only form that servers may send today.
  if (std::sscanf(copy.c_str(), "%*3c, %2d %3s %4d %2d:%2d:%2d GMT", &day, name, &year, &hour, &minute, &second) != 6) {
    return std::nullopt;
  }
  for (unsigned month = 0; month < kMonths.size(); ++month) {
    if (kMonths[month] == name) return time_of(year, month + 1, static_cast<unsigned>(day), hour, minute, second);
  }
  return std::nullopt;
}

std::optional<std::chrono::system_clock::time_point> parse_iso_time(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, read = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &read) !=
      6) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(read));
  if (text.starts_with('.')) text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
  const auto zone = zone_of(text);
  const auto time = time_of(year, static_cast<unsigned>(month), static_cast<unsigned>(day), hour, minute, second);
  return zone && time ? std::optional(*time - *zone) : std::nullopt;
}

}  // namespace forebay
