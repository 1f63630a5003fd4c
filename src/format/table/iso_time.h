#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace forebay {

/// Parses "2026-01-31", "2026-01-31T12:30:00", "2026-01-31 12:30:00.25Z" or "…+02:00" to ticks
/// since 1970 (UTC). A day has `ticks_per_day` ticks. A time between two ticks is returned as a
/// double. Returns nullopt for other texts.
std::optional<std::variant<int64_t, double>> parse_iso_time(std::string_view text, int64_t ticks_per_day);

}  // namespace forebay
