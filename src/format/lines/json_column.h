#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "format/lines/json_fields.h"

namespace forebay {

/// One field of the rows of a chunk while they are parsed. The last row may be dropped and written
/// again. One thread.
class JsonColumn {
 public:
  explicit JsonColumn(JsonField field) : field_(std::move(field)) {}
  const JsonField& field() const { return field_; }
  bool is_list() const { return is_json_list(field_.type); }

  /// Adds a value to the row. Returns false if the field cannot hold a JSON value of that type. The
  /// row of a list gets any number of values before end_row(), every other row gets one.
  bool add(bool value);
  bool add(int64_t value);
  bool add(uint64_t value);
  bool add(double value);
  bool add(std::string_view text);
  /// Adds the text of a value to a field of type json or json[].
  void add_json(std::string_view text);
  /// Adds the field's replacement for null to a list. Returns false if there is none.
  bool add_instead();
  /// Number of values in the list that is being read.
  size_t count() const;
  /// Keeps the first `count` of them.
  void keep(size_t count);
  /// Ends a row that got its value. Unsupported if the strings of one list take 4 GiB or more.
  Status end_row();
  /// Ends a row without a value. A list is empty. All others get the field's replacement for null;
  /// without one, zero or an empty value.
  void end_row_without_value();
  /// Keeps the first `rows` rows and drops the others, including an unfinished row.
  void truncate(int64_t rows);
  ColumnValues finish() &&;

 private:
  template <typename T>
  bool put(T value);
  void append(std::string_view text);
  bool texts() const { return field_.type == JsonType::kText || field_.type == JsonType::kJson; }
  bool text_lists() const { return field_.type == JsonType::kTextList || field_.type == JsonType::kJsonList; }
  size_t row_begin() const { return ends_.empty() ? 0 : static_cast<size_t>(ends_.back()); }
  void put_instead();
  bool has_ends() const { return is_list() || texts(); }
  size_t width() const;

  const JsonField field_;
  std::vector<uint8_t> values_;
  std::vector<int64_t> ends_;  ///< ends of rows of different lengths, in bytes
  int64_t rows_ = 0;
  std::vector<std::string> strings_;  ///< strings of the list that is being read
};

}  // namespace forebay
