#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "ops/definition/args.h"

// Functions shared by operators on text.

namespace forebay {

/// Returns the schema indices of the named fields. Adds a problem for each field that is missing,
/// named twice, or neither text nor bytes.
std::vector<size_t> check_texts(const std::vector<std::string>& names, std::string_view op, const Schema& schema,
                                Problems& problems);

/// Index of a field of text or bytes. Unsupported if user code made something else of it.
Result<size_t> find_text(const Columns& columns, const std::string& name);

inline std::span<const uint8_t> text_of(const ColumnValues& column, int64_t row) {
  const int64_t* const offset = column.offset();
  return column.values.span().subspan(static_cast<size_t>(offset[row]),
                                      static_cast<size_t>(offset[row + 1] - offset[row]));
}

/// A Corrupt error that names the first byte that is not UTF-8.
Status not_utf8_error(std::span<const uint8_t> text);

Buffer buffer_of_text(const std::string& text);

}  // namespace forebay
