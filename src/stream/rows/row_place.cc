#include "stream/rows/row_place.h"

#include <charconv>

#include <fmt/format.h>

namespace forebay {

std::string RowPlace::to_string() const {
  return row == kLast ? file.to_string() : fmt::format("{}#{}/{}", file.changed_ns, row, file.key);
}

// The row number precedes the key, since a key may contain any character.
std::optional<RowPlace> RowPlace::parse(std::string_view text) {
  RowPlace place;
  const std::string_view head = text.substr(0, text.find('/'));
  const size_t mark = head.find('#');
  std::string of_file(head.substr(0, mark));
  of_file += text.substr(head.size());
  const auto file = FolderPlace::parse(of_file);
  if (!file) return std::nullopt;
  place.file = *file;
  if (mark == std::string_view::npos) return place;
  const char* const end = head.data() + head.size();
  const auto [stop, error] = std::from_chars(head.data() + mark + 1, end, place.row);
  const bool good = error == std::errc() && stop == end && place.row >= 0 && place.row < kLast;
  return good && place.to_string() == text ? std::optional(place) : std::nullopt;
}

}  // namespace forebay
