#include "format/column.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/convert.h"
#include "format/cell_numbers.h"

namespace forebay {

namespace {

/// Writes the number that `cell` spells; returns false if it is not a number.
template <typename T>
bool write_number(std::string_view cell, uint8_t* out) {
  const std::optional<T> value = parse_number_cell<T>(cell);
  if (value) std::memcpy(out, &*value, sizeof(T));
  return value.has_value();
}

bool write_half(std::string_view cell, uint8_t* out) {
  const std::optional<float> value = parse_number_cell<float>(cell);
  if (!value) return false;
  const uint16_t half = float_to_half(*value);
  std::memcpy(out, &half, sizeof half);
  return true;
}

bool write_bool(std::string_view cell, uint8_t* out) {
  const std::optional<uint8_t> value = parse_bool_cell(cell);
  if (value) *out = *value;
  return value.has_value();
}

bool write_cell(std::string_view cell, DType dtype, uint8_t* out) {
  switch (dtype) {
    case DType::kBool: return write_bool(cell, out);
    case DType::kUint8: return write_number<uint8_t>(cell, out);
    case DType::kInt8: return write_number<int8_t>(cell, out);
    case DType::kUint16: return write_number<uint16_t>(cell, out);
    case DType::kInt16: return write_number<int16_t>(cell, out);
    case DType::kUint32: return write_number<uint32_t>(cell, out);
    case DType::kInt32: return write_number<int32_t>(cell, out);
    case DType::kUint64: return write_number<uint64_t>(cell, out);
    case DType::kInt64: return write_number<int64_t>(cell, out);
    case DType::kFloat16: return write_half(cell, out);
    case DType::kFloat32: return write_number<float>(cell, out);
    case DType::kFloat64: return write_number<double>(cell, out);
    default: return false;
  }
}

/// True if a double represents the integer exactly.
bool is_exact(int64_t whole, bool is_unsigned) {
  constexpr double kLimit = 0x1p64;
  const double rounded = is_unsigned ? static_cast<double>(std::bit_cast<uint64_t>(whole)) : static_cast<double>(whole);
  if (is_unsigned) return rounded < kLimit && static_cast<uint64_t>(rounded) == std::bit_cast<uint64_t>(whole);
  return rounded < kLimit / 2 && static_cast<int64_t>(rounded) == whole;
}

template <typename T>
Buffer buffer_of(const std::vector<T>& values) {
  Buffer buffer = Buffer::allocate(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), buffer.size());
  return buffer;
}

}  // namespace

Value Column::value(int64_t id) const {
  const auto i = static_cast<size_t>(id);
  if (field_.kind == FieldKind::kText) {
    const uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return Value::of_text(data_.slice(begin, ends_[i] - begin));
  }
  const size_t item = dtype_size(field_.dtype);
  return Value::of(Tensor{field_.dtype, Shape(), data_.slice(i * item, item)});
}

void Column::gather(std::span<const int64_t> ids, uint8_t* out) const {
  const size_t item = dtype_size(field_.dtype);
  for (const int64_t id : ids) {
    std::memcpy(out, data_.data() + static_cast<size_t>(id) * item, item);
    out += item;
  }
}

uint64_t Column::bytes() const { return data_.size() + ends_.bytes(); }

void Column::hash(Hasher& hasher) const {
  hasher.update(field_.to_string());
  for (size_t i = 0; i < ends_.size(); ++i) hasher.update_value(ends_[i]);
  hasher.update(data_.data(), data_.size());
}

void hash_value(Hasher& hasher, const Column& column, int64_t id) {
  const Value value = column.value(id);
  const Buffer& bytes = value.kind == FieldKind::kTensor ? value.tensor.buffer : value.bytes;
  hasher.update(column.field().to_string());
  hasher.update_value(static_cast<uint64_t>(bytes.size()));
  hasher.update(bytes.data(), bytes.size());
}

void ColumnBuilder::append_text(std::string_view text) {
  arena_ += text;
  ends_.push_back(arena_.size());
}

Status ColumnBuilder::add_cell(std::string_view cell, uint64_t line) {
  if (requested_type_) return add_as_requested(cell, line);
  type_ = Type::kCells;
  if (cell.empty() && empty_cells_++ == 0) first_empty_line_ = line;
  append_text(cell);
  ++count_;
  return {};
}

Status ColumnBuilder::add_as_requested(std::string_view cell, uint64_t line) {
  type_ = Type::kRequested;
  ++count_;
  if (requested_type_->kind == FieldKind::kText) {
    append_text(cell);
    return {};
  }
  const size_t at = requested_values_.size();
  requested_values_.resize(at + dtype_size(requested_type_->dtype));
  if (write_cell(cell, requested_type_->dtype, requested_values_.data() + at)) return {};
  return corrupt(fmt::format("line {}: '{}' is '{}', but types= expects {}; correct it, or give \"string\"", line,
                             name_, cell, dtype_name(requested_type_->dtype)));
}

Status ColumnBuilder::check_exact(int64_t whole, bool is_unsigned, uint64_t line) const {
  if (is_exact(whole, is_unsigned)) return {};
  return corrupt(fmt::format(
      "line {}: '{}' has fractions beside whole numbers of more than 53 bits, which float64 would round; write "
      "them as text",
      line, name_));
}

Status ColumnBuilder::check_type(Type type, uint64_t line) {
  if (type_ == Type::kNone) type_ = type;
  if (type_ == type) return {};
  constexpr std::string_view kNames[] = {"", "", "true or false", "a number", "a number", "text", ""};
  return corrupt(fmt::format("line {}: '{}' is {} here and {} before; one column has one type", line, name_,
                             kNames[static_cast<int>(type)], kNames[static_cast<int>(type_)]));
}

Status ColumnBuilder::add(bool value, uint64_t line) {
  if (requested_type_) return add_as_requested(value ? "true" : "false", line);
  FOREBAY_RETURN_IF_ERROR(check_type(Type::kBool, line));
  bools_.push_back(value ? 1 : 0);
  ++count_;
  return {};
}

Status ColumnBuilder::mixed_signs(uint64_t line) const {
  return corrupt(fmt::format(
      "line {}: '{}' has numbers below 0 and others from 2^63 on, and no type of 64 bits holds both; write them as "
      "text, or as 1.0 if rounded ones will do",
      line, name_));
}

Status ColumnBuilder::add(int64_t value, uint64_t line) {
  if (requested_type_) return add_as_requested(fmt::format("{}", value), line);
  if (type_ == Type::kFloat) {
    FOREBAY_RETURN_IF_ERROR(check_exact(value, false, line));
    return add(static_cast<double>(value), line);
  }
  FOREBAY_RETURN_IF_ERROR(check_type(Type::kInt, line));
  negative_ |= value < 0;
  if (negative_ && beyond_int64_) return mixed_signs(line);
  ints_.push_back(value);
  ++count_;
  return {};
}

Status ColumnBuilder::add(uint64_t value, uint64_t line) {
  if (requested_type_) return add_as_requested(fmt::format("{}", value), line);
  if (std::in_range<int64_t>(value)) return add(static_cast<int64_t>(value), line);
  if (type_ == Type::kFloat) {
    FOREBAY_RETURN_IF_ERROR(check_exact(std::bit_cast<int64_t>(value), true, line));
    return add(static_cast<double>(value), line);
  }
  FOREBAY_RETURN_IF_ERROR(check_type(Type::kInt, line));
  beyond_int64_ = true;
  if (negative_) return mixed_signs(line);
  ints_.push_back(std::bit_cast<int64_t>(value));
  ++count_;
  return {};
}

Status ColumnBuilder::add(double value, uint64_t line) {
  if (requested_type_) return add_as_requested(fmt::format("{}", value), line);
  if (type_ == Type::kInt) {
    for (const int64_t one : ints_) FOREBAY_RETURN_IF_ERROR(check_exact(one, beyond_int64_, line));
    for (const int64_t one : ints_)
      floats_.push_back(beyond_int64_ ? static_cast<double>(std::bit_cast<uint64_t>(one)) : static_cast<double>(one));
    ints_ = {};
    type_ = Type::kFloat;
  }
  // Earlier integers were converted above. Bools and texts are not, so check_type() refuses them.
  FOREBAY_RETURN_IF_ERROR(check_type(Type::kFloat, line));
  floats_.push_back(value);
  ++count_;
  return {};
}

Status ColumnBuilder::add(std::string_view text, uint64_t line) {
  if (requested_type_) return add_as_requested(text, line);
  FOREBAY_RETURN_IF_ERROR(check_type(Type::kText, line));
  append_text(text);
  ++count_;
  return {};
}

std::string_view ColumnBuilder::text(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  const uint64_t begin = at == 0 ? 0 : ends_[at - 1];
  return std::string_view(arena_).substr(begin, ends_[at] - begin);
}

Column ColumnBuilder::make(FieldKind kind, DType dtype) const {
  Column column;
  column.field_.name = name_;
  column.field_.kind = kind;
  column.field_.dtype = dtype;
  return column;
}

std::optional<DType> ColumnBuilder::type_of_cells() const {
  CellTypeFinder numbers;
  for (int64_t i = 0; i < count_; ++i) {
    if (!text(i).empty()) numbers.add(text(i));
  }
  return numbers.type();
}

Column ColumnBuilder::values_of_cells(DType dtype) const {
  Column column = make(FieldKind::kTensor, dtype);
  const size_t item = dtype_size(dtype);
  column.data_ = Buffer::allocate(static_cast<size_t>(count_) * item);
  // type_of_cells() has checked that every cell is a value of the type.
  for (int64_t i = 0; i < count_; ++i) write_cell(text(i), dtype, column.data_.data() + static_cast<size_t>(i) * item);
  return column;
}

Result<Column> ColumnBuilder::finish_cells() {
  const std::optional<DType> dtype = type_of_cells();
  if (!dtype) {
    type_ = Type::kText;
    return std::move(*this).finish();
  }
  if (empty_cells_ == 0) return values_of_cells(*dtype);
  return corrupt(fmt::format(
      "line {}: '{}' is empty here, but its other values are {}; fill it in ({} empty cells), or read the column as "
      "text by types={{\"{}\": \"string\"}}",
      first_empty_line_, name_, dtype_name(*dtype), empty_cells_, name_));
}

Result<Column> ColumnBuilder::finish() && {
  Column column;
  switch (type_) {
    case Type::kCells: return finish_cells();
    case Type::kBool:
      column = make(FieldKind::kTensor, DType::kBool);
      column.data_ = buffer_of(bools_);
      return column;
    case Type::kInt:
      column = make(FieldKind::kTensor, beyond_int64_ ? DType::kUint64 : DType::kInt64);
      column.data_ = buffer_of(ints_);
      return column;
    case Type::kFloat:
      column = make(FieldKind::kTensor, DType::kFloat64);
      column.data_ = buffer_of(floats_);
      return column;
    case Type::kRequested:
      if (requested_type_->kind == FieldKind::kText) break;
      column = make(FieldKind::kTensor, requested_type_->dtype);
      column.data_ = buffer_of(requested_values_);
      return column;
    case Type::kNone:
    case Type::kText: break;
  }
  column = make(FieldKind::kText, DType::kUint8);
  column.ends_ = PackedInts(ends_.size(), arena_.size());
  for (const uint64_t end : ends_) column.ends_.push_back(end);
  auto kept = std::make_shared<std::string>(std::move(arena_));
  // It grew by doubling, and lives as long as the source.
  kept->shrink_to_fit();
  column.data_ = Buffer(reinterpret_cast<uint8_t*>(kept->data()), kept->size(), kept);
  return column;
}

}  // namespace forebay
