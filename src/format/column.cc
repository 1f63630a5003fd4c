#include "format/column.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

std::string_view trimmed(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
  return cell;
}

template <typename T>
std::optional<T> parse_number(std::string_view cell) {
  cell = trimmed(cell);
  // from_chars() takes no '+'.
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || cell.empty()) return std::nullopt;
  return value;
}

bool is_whole(std::string_view cell) {
  cell = trimmed(cell);
  if (cell.starts_with('+') || cell.starts_with('-')) cell.remove_prefix(1);
  return !cell.empty() && cell.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<uint8_t> parse_bool(std::string_view cell) {
  cell = trimmed(cell);
  if (cell == "true" || cell == "True" || cell == "TRUE") return 1;
  if (cell == "false" || cell == "False" || cell == "FALSE") return 0;
  return std::nullopt;
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

void ColumnBuilder::append_text(std::string_view text) {
  arena_ += text;
  ends_.push_back(arena_.size());
}

void ColumnBuilder::add_cell(std::string_view cell, uint64_t line) {
  type_ = Type::kCells;
  if (cell.empty() && empty_cells_++ == 0) first_empty_line_ = line;
  append_text(cell);
  ++count_;
}

Status ColumnBuilder::expect(Type type, uint64_t line) {
  if (type_ == Type::kNone) type_ = type;
  if (type_ == type) return {};
  constexpr std::string_view kNames[] = {"", "", "true or false", "a number", "a number", "text"};
  return corrupt(fmt::format("line {}: '{}' is {} here and {} before; one column has one type", line, name_,
                             kNames[static_cast<int>(type)], kNames[static_cast<int>(type_)]));
}

Status ColumnBuilder::add(bool value, uint64_t line) {
  FOREBAY_RETURN_IF_ERROR(expect(Type::kBool, line));
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
  if (type_ == Type::kFloat) return add(static_cast<double>(value), line);
  FOREBAY_RETURN_IF_ERROR(expect(Type::kInt, line));
  negative_ |= value < 0;
  if (negative_ && beyond_int64_) return mixed_signs(line);
  ints_.push_back(value);
  ++count_;
  return {};
}

Status ColumnBuilder::add(uint64_t value, uint64_t line) {
  if (std::in_range<int64_t>(value)) return add(static_cast<int64_t>(value), line);
  if (type_ == Type::kFloat) return add(static_cast<double>(value), line);
  FOREBAY_RETURN_IF_ERROR(expect(Type::kInt, line));
  beyond_int64_ = true;
  if (negative_) return mixed_signs(line);
  ints_.push_back(std::bit_cast<int64_t>(value));
  ++count_;
  return {};
}

Status ColumnBuilder::add(double value, uint64_t line) {
  if (type_ == Type::kInt) {
    for (const int64_t one : ints_)
      floats_.push_back(beyond_int64_ ? static_cast<double>(std::bit_cast<uint64_t>(one)) : static_cast<double>(one));
    ints_ = {};
    type_ = Type::kFloat;
  }
  // What was whole so far became floats above; bools and texts never do.
  FOREBAY_RETURN_IF_ERROR(expect(Type::kFloat, line));
  floats_.push_back(value);
  ++count_;
  return {};
}

Status ColumnBuilder::add(std::string_view text, uint64_t line) {
  FOREBAY_RETURN_IF_ERROR(expect(Type::kText, line));
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

/// True when every cell that is not empty is a T.
template <typename T, typename Parse>
bool ColumnBuilder::try_parse(DType dtype, Parse&& parse, Column* column) const {
  std::vector<T> values;
  for (int64_t i = 0; i < count_; ++i) {
    const std::string_view cell = text(i);
    if (cell.empty()) continue;
    const auto value = parse(cell);
    if (!value) return false;
    values.push_back(*value);
  }
  *column = make(FieldKind::kTensor, dtype);
  column->data_ = buffer_of(values);
  return true;
}

bool ColumnBuilder::all_whole() const {
  for (int64_t i = 0; i < count_; ++i) {
    if (!text(i).empty() && !is_whole(text(i))) return false;
  }
  return true;
}

Result<Column> ColumnBuilder::finish_cells() {
  Column column;
  // Whole numbers too large for 64 bits stay text: as floats they would lose digits.
  // The narrowest first; a bool comes last, for its words are no numbers.
  const bool typed =
      empty_cells_ < count_ && (try_parse<int64_t>(DType::kInt64, parse_number<int64_t>, &column) ||
                                try_parse<uint64_t>(DType::kUint64, parse_number<uint64_t>, &column) ||
                                (!all_whole() && try_parse<double>(DType::kFloat64, parse_number<double>, &column)) ||
                                try_parse<uint8_t>(DType::kBool, parse_bool, &column));
  if (!typed) {
    type_ = Type::kText;
    return std::move(*this).finish();
  }
  if (empty_cells_ == 0) return column;
  return corrupt(fmt::format("line {}: '{}' is empty here, but its other values are {}; fill it in ({} empty cells)",
                             first_empty_line_, name_, dtype_name(column.field_.dtype), empty_cells_));
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
    case Type::kNone:
    case Type::kText: break;
  }
  column = make(FieldKind::kText, DType::kUint8);
  column.ends_ = PackedInts(ends_.size(), arena_.size());
  for (const uint64_t end : ends_) column.ends_.push_back(end);
  auto kept = std::make_shared<std::string>(std::move(arena_));
  // It grew by doubling, and stays as long as the source.
  kept->shrink_to_fit();
  column.data_ = Buffer(reinterpret_cast<uint8_t*>(kept->data()), kept->size(), kept);
  return column;
}

}  // namespace forebay
