#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/column_type.h"
#include "base/hash.h"
#include "base/record.h"
#include "format/files/key_table.h"

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

/// Gathers a column and finds its type. A column is read either from cells of text (CSV) or from typed values (JSON), which must
/// agree, except that integers become floats beside floats where none of them is rounded by it.
///
/// Cells are numbers only where printing the numbers gives the cells back, so that no identifier loses anything:
///
/// | cells                                                              | column  |
/// |--------------------------------------------------------------------|---------|
/// | whole numbers, without a plus sign, leading zeros or blanks        | int64, or uint64 where one is 2^63 or more |
/// | these, and floats in their shortest form ("0.1", "1e-05", "nan")   | float64 |
/// | floats that all have the same number of decimals ("0.50", "1.25")  | float64 |
/// | one pair of true/false, True/False, TRUE/FALSE                     | bool    |
/// | all others: "00501", "+4912", "1e5", "1_000", "0x1F", " 5", "1.10" beside "1.9" | text |
///
/// Whole numbers are never rounded for want of a type: cells that 64 bits do not hold stay text, and typed values of that kind
/// are Corrupt.
/// One thread. Cells of CSV are held as text until finish() knows their type.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(std::string name) : name_(std::move(name)) {}
  /// The values are of this type, whatever they look like: text as it is, or the numbers and bools that the cells spell. Before
  /// the first value.
  void read_as(const ColumnType& type) { wanted_ = type; }
  const std::string& name() const { return name_; }
  int64_t size() const { return count_; }

  /// Corrupt only where read_as() was called and the cell is no value of that type.
  Status add_cell(std::string_view cell, uint64_t line);
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
  enum class Type : uint8_t { kNone, kCells, kBool, kInt, kFloat, kText, kWanted };
  Status expect(Type type, uint64_t line);
  Status mixed_signs(uint64_t line) const;
  void append_text(std::string_view text);
  Status add_wanted(std::string_view cell, uint64_t line);
  Status keep_exact(int64_t whole, bool is_unsigned, uint64_t line) const;
  std::optional<DType> type_of_cells() const;
  Result<Column> finish_cells();
  Column make(FieldKind kind, DType dtype) const;
  Column values_of_cells(DType dtype) const;

  std::string name_;
  std::optional<ColumnType> wanted_;
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
  std::vector<uint8_t> wanted_values_;  ///< of read_as(), end to end
};

}  // namespace forebay
