#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/columns.h"
#include "format/lines/json_fields.h"

namespace forebay {

/// One field of the rows of a chunk while they are read. A row may be taken back and written again, as long as it is the last. One thread.
class JsonColumn {
 public:
  explicit JsonColumn(JsonField field) : field_(std::move(field)) {}
  const JsonField& field() const { return field_; }
  bool is_list() const { return field_.type >= JsonType::kBoolList; }

  /// Whether a value of the JSON text is one of the field's. A row gets one, or between begin_list() and end_row() any number.
  bool add(bool value);
  bool add(int64_t value);
  bool add(uint64_t value);
  bool add(double value);
  bool add(std::string_view text);
  /// Of a field of type json.
  void add_json(std::string_view text) { append(text); }
  /// Ends a row that got its value. Unsupported where the strings of one list take 4 GiB.
  Status end_row();
  /// A row of what stands in place of null; zero or nothing where there is no such value.
  void end_row_without_value();
  /// Only the first rows, and nothing of the one that was begun.
  void keep(int64_t rows);
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
  std::vector<int64_t> ends_;  ///< of rows of different lengths, in bytes
  int64_t rows_ = 0;
  std::vector<std::string> strings_;  ///< of the list that is read
};

}  // namespace forebay
