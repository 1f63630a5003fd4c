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
  bool is_list() const { return field_.type >= JsonType::kBoolList; }

  /// Adds a value to the row. Returns false if the field cannot hold a JSON value of that type. The
  /// row of a list gets any number of values before end_row(), every other row gets one.
  bool add(bool value);
  bool add(int64_t value);
  bool add(uint64_t value);
  bool add(double value);
  bool add(std::string_view text);
  /// Adds the text of a value to a field of type json.
  void add_json(std::string_view text) { append(text); }
  /// Ends a row that got its value. Unsupported if the strings of one list take 4 GiB or more.
  Status end_row();
  /// Ends a row without a value. It gets the field's replacement for null; without one, zero or an
  /// empty value.
  void end_row_without_value();
  /// Keeps the first `rows` rows and drops the others, including an unfinished row.
  void truncate(int64_t rows);
  ColumnValues finish() &&;

 private:
  template <typename T>
  bool put(T value);
  void append(std::string_view text);
  bool texts() const { return field_.type == JsonType::kText || field_.type == JsonType::kJson; }
  bool has_ends() const { return is_list() || texts(); }
  size_t width() const;

  const JsonField field_;
  std::vector<uint8_t> values_;
  std::vector<int64_t> ends_;  ///< ends of rows of different lengths, in bytes
  int64_t rows_ = 0;
  std::vector<std::string> strings_;  ///< strings of the list that is being read
};

}  // namespace forebay
