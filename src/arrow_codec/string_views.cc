#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "arrow_codec/element_text.h"
#include "arrow_codec/leaf_values.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

using arrow::Type;
using Views = std::vector<std::span<const uint8_t>>;

Status outside() { return corrupt("a string lies outside of the memory of its column"); }

template <typename Offset>
Status add_offsets(const arrow::Array& array, const Offset* offsets, const std::shared_ptr<arrow::Buffer>& data,
                   Views& out) {
  const int64_t end = data ? data->size() : 0;
  for (int64_t i = 0; i < array.length(); ++i) {
    const int64_t from = offsets[i], to = offsets[i + 1];
    if (array.IsNull(i)) {
      out.emplace_back();
      continue;
    }
    // Checked after the null check, because offsets of nulls may be anything.
    if (from < 0 || to < from || to > end) return outside();
    out.emplace_back(to == from ? nullptr : data->data() + from, static_cast<size_t>(to - from));
  }
  return {};
}

Status add_views(const arrow::BinaryViewArray& array, Views& out) {
  const auto& buffers = array.data()->buffers;
  const auto* views = reinterpret_cast<const arrow::BinaryViewType::c_type*>(buffers[1]->data()) + array.offset();
  for (int64_t i = 0; i < array.length(); ++i) {
    const auto& view = views[i];
    if (array.IsNull(i)) {
      out.emplace_back();
    } else if (view.size() < 0) {
      return outside();
    } else if (view.is_inline()) {
      out.emplace_back(view.inline_data(), static_cast<size_t>(view.size()));
    } else {
      const auto buffer = static_cast<int64_t>(view.ref.buffer_index) + 2;
      if (buffer < 2 || buffer >= static_cast<int64_t>(buffers.size()) || view.ref.offset < 0) return outside();
      const arrow::Buffer& data = *buffers[static_cast<size_t>(buffer)];
      // Computed in 64 bits, where the sum of two 31-bit numbers cannot overflow.
      if (int64_t{view.ref.offset} + view.size() > data.size()) return outside();
      out.emplace_back(data.data() + view.ref.offset, static_cast<size_t>(view.size()));
    }
  }
  return {};
}

Status add_fixed(const arrow::FixedSizeBinaryArray& array, Views& out) {
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      out.emplace_back();
    } else {
      out.emplace_back(array.GetValue(i), static_cast<size_t>(array.byte_width()));
    }
  }
  return {};
}

using Made = std::deque<std::string>;

Status add(const arrow::Array& array, Views& out, Made& made);

Status add_dictionary(const arrow::DictionaryArray& array, Views& out, Made& made) {
  Views entries;
  // Recurses only one level, because the plan refuses dictionaries inside dictionaries.
  FOREBAY_RETURN_IF_ERROR(add(*array.dictionary(), entries, made));
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) {
      out.emplace_back();
      continue;
    }
    const int64_t entry = array.GetValueIndex(i);
    if (entry < 0 || entry >= static_cast<int64_t>(entries.size()))
      return corrupt("a value points outside of its dictionary");
    out.push_back(entries[static_cast<size_t>(entry)]);
  }
  return {};
}

Status add_numbers(const arrow::Array& array, Views& out, Made& made) {
  std::string& all = made.emplace_back();
  std::vector<size_t> ends;
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsValid(i)) FOREBAY_RETURN_IF_ERROR(append_text(array, i, all));
    ends.push_back(all.size());
  }
  FOREBAY_RETURN_IF_ERROR(charge_memory(all.capacity()));
  const auto* begin = reinterpret_cast<const uint8_t*>(all.data());
  for (size_t i = 0; i < ends.size(); ++i) {
    const size_t from = i == 0 ? 0 : ends[i - 1];
    out.emplace_back(begin + from, ends[i] - from);
  }
  return {};
}

Status add(const arrow::Array& array, Views& out, Made& made) {
  out.reserve(out.size() + static_cast<size_t>(array.length()));
  if (array.length() == 0) return {};
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY: {
      const auto& strings = static_cast<const arrow::BinaryArray&>(array);
      return add_offsets(array, strings.raw_value_offsets(), strings.value_data(), out);
    }
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: {
      const auto& strings = static_cast<const arrow::LargeBinaryArray&>(array);
      return add_offsets(array, strings.raw_value_offsets(), strings.value_data(), out);
    }
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW: return add_views(static_cast<const arrow::BinaryViewArray&>(array), out);
    case Type::FIXED_SIZE_BINARY: return add_fixed(static_cast<const arrow::FixedSizeBinaryArray&>(array), out);
    case Type::DICTIONARY: return add_dictionary(static_cast<const arrow::DictionaryArray&>(array), out, made);
    case Type::EXTENSION: return add(*static_cast<const arrow::ExtensionArray&>(array).storage(), out, made);
    case Type::NA: out.resize(out.size() + static_cast<size_t>(array.length())); return {};
    case Type::BOOL:
    case Type::UINT8:
    case Type::INT8:
    case Type::UINT16:
    case Type::INT16:
    case Type::UINT32:
    case Type::INT32:
    case Type::UINT64:
    case Type::INT64:
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE:
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256: return add_numbers(array, out, made);
    default: return unsupported("of a type that holds no strings");
  }
}

}  // namespace

Result<StringViews> StringViews::of(const arrow::Array& array) {
  StringViews all;
  FOREBAY_RETURN_IF_ERROR(charge_memory(static_cast<uint64_t>(array.length()) * sizeof all.views_[0]));
  FOREBAY_RETURN_IF_ERROR(add(array, all.views_, all.made_));
  return all;
}

}  // namespace forebay
