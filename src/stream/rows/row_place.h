#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stream/files/followed_folder.h"

namespace forebay {

/// The place of a row in the order of a followed folder's tables: the place of its file, and its
/// number in that file.
struct RowPlace {
  static constexpr int64_t kLast = INT64_MAX;

  FolderPlace file;
  /// kLast: the last row of the file that the log returns. Reading after it does not need the file.
  int64_t row = kLast;
  friend auto operator<=>(const RowPlace&, const RowPlace&) = default;

  /// "1700000000123456789#17/a/b.parquet". The last row has the text of its file's place:
  /// "1700000000123456789/a/b.parquet".
  std::string to_string() const;
  /// Returns nothing if the text is not a place.
  static std::optional<RowPlace> parse(std::string_view text);
};

}  // namespace forebay
