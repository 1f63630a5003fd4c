#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay {

/// The id of an entry of a Redis stream: "1700000000000-3". 0-0 comes before all entries.
struct StreamId {
  uint64_t ms = 0, sequence = 0;
  friend auto operator<=>(const StreamId&, const StreamId&) = default;

  std::string to_string() const;
  /// Parses an id in its shortest form; nothing for other text.
  static std::optional<StreamId> parse(std::string_view text);
};

}  // namespace forebay
