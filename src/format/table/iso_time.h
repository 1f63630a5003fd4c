#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace forebay {

/// "2026-01-31", "2026-01-31T12:30:00", "2026-01-31 12:30:00.25Z", "…+02:00" as ticks since 1970 (UTC), of which a day has
/// `ticks_per_day`. A time between two ticks is a double between them. Nothing where the text is no such time.
std::optional<std::variant<int64_t, double>> parse_iso_time(std::string_view text, int64_t ticks_per_day);

}  // namespace forebay
