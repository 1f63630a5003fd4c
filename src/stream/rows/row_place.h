#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stream/files/followed_folder.h"

namespace forebay {

/// Where a row stands among those of a followed folder's tables: the place of its file, and its
/// number there.
struct RowPlace {
  static constexpr int64_t kLast = INT64_MAX;

  FolderPlace file;
  /// kLast: the last one of the file that is given. Reading behind it needs the file no more.
  int64_t row = kLast;
  friend auto operator<=>(const RowPlace&, const RowPlace&) = default;

  /// "1700000000123456789#17/a/b.parquet"; of the last one as the file's:
  /// "1700000000123456789/a/b.parquet".
  std::string to_string() const;
  /// Nothing for text that is none.
  static std::optional<RowPlace> parse(std::string_view text);
};

}  // namespace forebay
