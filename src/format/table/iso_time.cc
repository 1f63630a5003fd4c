#include "format/table/iso_time.h"

#include <charconv>
#include <chrono>

namespace forebay {

namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kSecondsPerDay = 86'400;

/// Parses numbers of fixed width and single characters from the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<int> number(size_t digits) {
    int value = 0;
    // from_chars() would accept the sign.
    if (rest_.size() < digits || rest_.front() == '-') return std::nullopt;
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + digits, value);
    if (parsed.ec != std::errc() || parsed.ptr != rest_.data() + digits) return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }
  /// Digits after a decimal point, in nanoseconds.
  std::optional<int64_t> fraction() {
    int64_t nanos = 0, unit = kNanosPerSecond;  // of the digit before the current one
    size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      unit /= 10;
      nanos += (rest_[digits] - '0') * unit;
    }
    rest_.remove_prefix(digits);
    // Fractions finer than a nanosecond could not be compared exactly.
    return digits == 0 || digits > 9 ? std::nullopt : std::optional(nanos);
  }

 private:
  std::string_view rest_;
};

/// Days since 1970.
std::optional<int64_t> take_date(Scanner& text) {
  const auto year = text.number(4);
  if (!year || !text.take('-')) return std::nullopt;
  const auto month = text.number(2);
  if (!month || !text.take('-')) return std::nullopt;
  const auto day = text.number(2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

/// "HH:MM" in minutes.
std::optional<int64_t> take_minutes(Scanner& text, int max_hours) {
  const auto hours = text.number(2);
  if (!hours || *hours > max_hours || !text.take(':')) return std::nullopt;
  const auto minutes = text.number(2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return *hours * 60 + *minutes;
}

/// Nanoseconds from midnight UTC of the date to the time, negative or above a day if the time has an
/// offset from UTC.
std::optional<int64_t> take_time(Scanner& text) {
  const auto minutes = take_minutes(text, 23);
  if (!minutes) return std::nullopt;
  int64_t nanos = *minutes * 60 * kNanosPerSecond;
  if (text.take(':')) {
    const auto seconds = text.number(2);
    if (!seconds || *seconds > 59) return std::nullopt;
    nanos += *seconds * kNanosPerSecond;
    if (text.take('.')) {
      const auto fraction = text.fraction();
      if (!fraction) return std::nullopt;
      nanos += *fraction;
    }
  }
  if (text.done() || text.take('Z')) return nanos;
  const int sign = text.take('+') ? 1 : text.take('-') ? -1 : 0;
  // UTC+14 (Kiribati) is the largest offset in use.
  const auto offset = sign == 0 ? std::nullopt : take_minutes(text, 14);
  if (!offset) return std::nullopt;
  return nanos - sign * *offset * 60 * kNanosPerSecond;
}

}  // namespace

std::optional<std::variant<int64_t, double>> parse_iso_time(std::string_view text, int64_t ticks_per_day) {
  Scanner scanner(text);
  const auto days = take_date(scanner);
  if (!days) return std::nullopt;
  std::optional<int64_t> nanos = 0;
  if (scanner.take('T') || scanner.take(' ')) nanos = take_time(scanner);
  if (!nanos || !scanner.done()) return std::nullopt;

  // Nanoseconds times ticks per day exceed 64 bits before the division.
  using Wide = __int128;
  const Wide day_nanos = Wide{kSecondsPerDay} * kNanosPerSecond;
  const Wide scaled = (Wide{*days} * day_nanos + *nanos) * ticks_per_day;
  Wide ticks = scaled / day_nanos;
  // Division rounds towards zero, which before 1970 is the later tick.
  if (ticks * day_nanos > scaled) --ticks;
  if (ticks < INT64_MIN || ticks > INT64_MAX) return std::nullopt;
  const auto whole = static_cast<int64_t>(ticks);
  if (ticks * day_nanos == scaled) return whole;
  // Any value between two ticks compares alike with every tick.
  return static_cast<double>(whole) + 0.5;
}

}  // namespace forebay
