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

/// One value per sample that is held in the index: a number, a bool, or text. Immutable. Values
/// refer to the column's memory.
class Column {
 public:
  Column() = default;
  /// `data` holds the values, or the texts, end to end. `ends` holds the end of each text; it is
  /// empty for numbers.
  Column(Field field, Buffer data, PackedInts ends)
      : field_(std::move(field)), data_(std::move(data)), ends_(std::move(ends)) {}
  const Field& field() const { return field_; }
  /// The same values under another name.
  Column named(std::string name) && {
    field_.name = std::move(name);
    return std::move(*this);
  }
  Value value(int64_t id) const;
  bool gathers() const { return field_.kind == FieldKind::kTensor; }
  void gather(std::span<const int64_t> ids, uint8_t* out) const;
  uint64_t bytes() const;
  void hash(Hasher& hasher) const;

 private:
  friend class ColumnBuilder;
  Field field_;
  Buffer data_;      ///< values or texts, end to end
  PackedInts ends_;  ///< end of each text in data_
};

/// Adds the column's type, and its value in one sample.
void hash_value(Hasher& hasher, const Column& column, int64_t id);

/// Collects the values of a column and infers its type. Values come either as cells of text (CSV)
/// or as typed values (JSON). Typed values must all have one type, except that integers become
/// floats if floats are present and no integer is rounded by it.
///
/// A cell is read as a number only if printing the number gives the same text again, so identifiers
/// are never changed:
///
/// | cells                                                        | column                 |
/// |--------------------------------------------------------------|------------------------|
/// | integers without a plus sign, leading zeros or blanks        | int64; uint64 if one   |
/// |                                                              | is 2^63 or more        |
/// | these, and floats in shortest form ("0.1", "1e-05", "nan")   | float64                |
/// | floats with one number of decimals ("0.50", "1.25")          | float64                |
/// | one pair of true/false, True/False, TRUE/FALSE               | bool                   |
/// | all others: "00501", "+4912", "1e5", "1_000", "0x1F", " 5",  | text                   |
/// | or a mix of "1.10" and "1.9"                                 |                        |
///
/// Whole numbers are never rounded: cells that do not fit 64 bits stay text, and such typed values
/// are Corrupt. Cells are held as text until finish() has inferred their type. One thread.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(std::string name) : name_(std::move(name)) {}
  /// Sets the type of the column in place of inferring it: cells stay text, or are parsed as
  /// numbers or bools. Must be called before the first value.
  void set_type(const ColumnType& type) { requested_type_ = type; }
  const std::string& name() const { return name_; }
  int64_t size() const { return count_; }

  /// Corrupt if set_type() was called and the cell is not a value of that type.
  Status add_cell(std::string_view cell, uint64_t line);
  Status add(bool value, uint64_t line);
  Status add(int64_t value, uint64_t line);
  Status add(uint64_t value, uint64_t line);
  Status add(double value, uint64_t line);
  Status add(std::string_view text, uint64_t line);

  /// Text number `i` of those added so far. Used for the column of paths.
  std::string_view text(int64_t i) const;
  /// Infers the type and builds the column. Fails if a column of numbers has an empty cell.
  Result<Column> finish() &&;

 private:
  enum class Type : uint8_t { kNone, kCells, kBool, kInt, kFloat, kText, kRequested };
  Status check_type(Type type, uint64_t line);
  Status mixed_signs(uint64_t line) const;
  void append_text(std::string_view text);
  Status add_as_requested(std::string_view cell, uint64_t line);
  Status check_exact(int64_t whole, bool is_unsigned, uint64_t line) const;
  std::optional<DType> type_of_cells() const;
  Result<Column> finish_cells();
  Column make(FieldKind kind, DType dtype) const;
  Column values_of_cells(DType dtype) const;

  std::string name_;
  std::optional<ColumnType> requested_type_;
  Type type_ = Type::kNone;
  int64_t count_ = 0;
  uint64_t first_empty_line_ = 0;
  int64_t empty_cells_ = 0;
  std::string arena_;
  std::vector<uint64_t> ends_;
  std::vector<int64_t> ints_;  ///< int64 values, or the bits of uint64 values
  bool negative_ = false, beyond_int64_ = false;
  std::vector<double> floats_;
  std::vector<uint8_t> bools_;
  std::vector<uint8_t> requested_values_;  ///< values of the type given to set_type(), end to end
};

}  // namespace forebay
