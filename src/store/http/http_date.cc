#include "store/http/http_date.h"

#include <array>
#include <cstdio>
#include <string>

namespace forebay {

namespace {

std::optional<std::chrono::system_clock::time_point> time_of(int year, unsigned month, unsigned day, int hour,
                                                             int minute, int second) {
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  const bool valid = date.ok() && hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 61;
  if (!valid) return std::nullopt;
  return sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  char name[4] = {};
  int day = 0, year = 0, hour = 0, minute = 0, second = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%*3c, %2d %3s %4d %2d:%2d:%2d GMT", &day, name, &year, &hour, &minute, &second) != 6) {
    return std::nullopt;
  }
  for (unsigned month = 0; month < kMonths.size(); ++month) {
    if (kMonths[month] == name) return time_of(year, month + 1, static_cast<unsigned>(day), hour, minute, second);
  }
  return std::nullopt;
}

std::optional<std::chrono::system_clock::time_point> parse_iso_time(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) != 6) {
    return std::nullopt;
  }
  return time_of(year, static_cast<unsigned>(month), static_cast<unsigned>(day), hour, minute, second);
}

}  // namespace forebay
