#include "format/lines/json_column.h"

#include <algorithm>
#include <cstring>

#include "forebay/string_list.h"

namespace forebay {

size_t JsonColumn::width() const { return texts() || text_lists() ? 1 : dtype_size(field_of_json(field_).dtype); }

template <typename T>
bool JsonColumn::put(T value) {
  const size_t at = values_.size();
  values_.resize(at + sizeof value);
  std::memcpy(values_.data() + at, &value, sizeof value);
  return true;
}

void JsonColumn::append(std::string_view text) { values_.insert(values_.end(), text.begin(), text.end()); }

bool JsonColumn::add(bool value) {
  const bool fitting = field_.type == JsonType::kBool || field_.type == JsonType::kBoolList;
  return fitting && put(static_cast<uint8_t>(value ? 1 : 0));
}

bool JsonColumn::add(int64_t value) {
  switch (field_.type) {
    case JsonType::kInt64:
    case JsonType::kInt64List: return put(value);
    case JsonType::kUint64: return value >= 0 && put(static_cast<uint64_t>(value));
    case JsonType::kFloat64:
    case JsonType::kFloat64List: return put(static_cast<double>(value));
    default: return false;
  }
}

bool JsonColumn::add(uint64_t value) {
  // The parser reports every integer without a sign as unsigned.
  if (value <= INT64_MAX) return add(static_cast<int64_t>(value));
  if (field_.type == JsonType::kUint64) return put(value);
  const bool floats = field_.type == JsonType::kFloat64 || field_.type == JsonType::kFloat64List;
  return floats && put(static_cast<double>(value));
}

bool JsonColumn::add(double value) {
  const bool floats = field_.type == JsonType::kFloat64 || field_.type == JsonType::kFloat64List;
  return floats && put(value);
}

bool JsonColumn::add(std::string_view text) {
  if (field_.type == JsonType::kTextList) {
    strings_.emplace_back(text);
    return true;
  }
  if (field_.type != JsonType::kText) return false;
  append(text);
  return true;
}

void JsonColumn::add_json(std::string_view text) {
  if (is_list())
    strings_.emplace_back(text);
  else
    append(text);
}

bool JsonColumn::add_instead() {
  if (field_.instead) put_instead();
  return field_.instead.has_value();
}

size_t JsonColumn::count() const { return text_lists() ? strings_.size() : (values_.size() - row_begin()) / width(); }

void JsonColumn::keep(size_t count) {
  if (text_lists())
    strings_.resize(std::min(count, strings_.size()));
  else
    values_.resize(std::min(row_begin() + count * width(), values_.size()));
}

void JsonColumn::put_instead() {
  const auto put_value = [&](const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
      add_json(value);
    else
      add(value);
  };
  std::visit(put_value, *field_.instead);
}

Status JsonColumn::end_row() {
  if (text_lists()) {
    const std::vector<std::string_view> views(strings_.begin(), strings_.end());
    FOREBAY_ASSIGN(const Tensor run, StringList::pack(views));
    values_.insert(values_.end(), run.buffer.data(), run.buffer.data() + run.nbytes());
    strings_.clear();
  }
  if (has_ends()) ends_.push_back(static_cast<int64_t>(values_.size()));
  ++rows_;
  return {};
}

void JsonColumn::end_row_without_value() {
  truncate(rows_);
  if (field_.instead && !is_list()) {
    put_instead();
  } else if (!has_ends()) {
    values_.resize(values_.size() + width());
  }
  if (has_ends()) ends_.push_back(static_cast<int64_t>(values_.size()));
  ++rows_;
}

void JsonColumn::truncate(int64_t rows) {
  const auto count = static_cast<size_t>(rows);
  if (has_ends()) {
    ends_.resize(count);
    values_.resize(count == 0 ? 0 : static_cast<size_t>(ends_.back()));
  } else {
    values_.resize(count * width());
  }
  strings_.clear();
  rows_ = rows;
}

ColumnValues JsonColumn::finish() && {
  ColumnValues column;
  if (has_ends()) {
    column.offsets = Buffer::allocate((ends_.size() + 1) * sizeof(int64_t));
    auto* const offsets = reinterpret_cast<int64_t*>(column.offsets.data());
    offsets[0] = 0;
    // Ends count bytes while rows are read; offsets count elements.
    for (size_t i = 0; i < ends_.size(); ++i) offsets[i + 1] = ends_[i] / static_cast<int64_t>(width());
  }
  column.values = Buffer::allocate(values_.size());
  if (!values_.empty()) std::memcpy(column.values.data(), values_.data(), values_.size());
  return column;
}

}  // namespace forebay
