#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/record.h"
#include "format/objects/key_table.h"

namespace forebay {

/// One value per sample that the index itself knows: a number, a bool, or text. Immutable; values refer to its
/// memory.
class Column {
 public:
  Column() = default;
  /// `data`: values end to end, or texts joined; `ends` of texts.
  Column(Field field, Buffer data, PackedInts ends)
      : field_(std::move(field)), data_(std::move(data)), ends_(std::move(ends)) {}
  const Field& field() const { return field_; }
  Value value(int64_t id) const;
  bool gathers() const { return field_.kind == FieldKind::kTensor; }
  void gather(std::span<const int64_t> ids, uint8_t* out) const;
  uint64_t bytes() const;
  void hash(Hasher& hasher) const;

 private:
  friend class ColumnBuilder;
  Field field_;
  Buffer data_;      ///< the values, or the texts joined
  PackedInts ends_;  ///< of texts
};

/// Gathers a column and finds its type. A column is read either from cells of text (CSV), whose type is the narrowest
/// that fits all of them, or from typed values (JSON), which must agree, except that integers become floats beside
/// floats. Whole numbers are int64, or uint64 where some are 2^63 or more; they are never rounded for want of a type: cells that
/// neither type holds stay text, and typed values of that kind are Corrupt.
/// One thread. Cells of CSV are held as text until finish() knows their type.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  int64_t size() const { return count_; }

  void add_cell(std::string_view cell, uint64_t line);
  Status add(bool value, uint64_t line);
  Status add(int64_t value, uint64_t line);
  Status add(uint64_t value, uint64_t line);
  Status add(double value, uint64_t line);
  Status add(std::string_view text, uint64_t line);

  /// The texts gathered so far, for the column of paths.
  std::string_view text(int64_t i) const;
  /// Fails where an empty cell stands among numbers.
  Result<Column> finish() &&;

 private:
  enum class Type : uint8_t { kNone, kCells, kBool, kInt, kFloat, kText };
  Status expect(Type type, uint64_t line);
  Status mixed_signs(uint64_t line) const;
  void append_text(std::string_view text);
  bool all_whole() const;
  Result<Column> finish_cells();
  Column make(FieldKind kind, DType dtype) const;
  template <typename T, typename Parse>
  bool try_parse(DType dtype, Parse&& parse, Column* column) const;

  std::string name_;
  Type type_ = Type::kNone;
  int64_t count_ = 0;
  uint64_t first_empty_line_ = 0;
  int64_t empty_cells_ = 0;
  std::string arena_;
  std::vector<uint64_t> ends_;
  std::vector<int64_t> ints_;  ///< or uint64, bit by bit
  bool negative_ = false, beyond_int64_ = false;
  std::vector<double> floats_;
  std::vector<uint8_t> bools_;
};

}  // namespace forebay
