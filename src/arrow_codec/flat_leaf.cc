#include "arrow_codec/flat_leaf.h"

#include <algorithm>
#include <cstring>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include "arrow_codec/leaf_values.h"
#include "arrow_codec/piece_file.h"
#include "arrow_codec/recycling_pool.h"

namespace forebay {

namespace {

using arrow::Type;

constexpr int64_t kMaxSlots = int64_t{1} << 46;  // sums below cannot overflow

/// Walks from a column to one of its leaves, step by step. The slots of the current level are the
/// `segments_` of `array_`.
class Walk {
 public:
  Walk(std::shared_ptr<arrow::Array> column, const Leaf& leaf, bool owned)
      : leaf_(leaf), owned_(owned), array_(std::move(column)), segments_{{0, array_->length()}},
        slots_(array_->length()) {}

  Result<FlatLeaf> run() {
    bool in_tensor = false;
    for (const PathStep& step : leaf_.steps) {
      unwrap();
      FOREBAY_RETURN_IF_ERROR(add_validity());
      switch (step.kind) {
        case PathStep::Kind::kMember: FOREBAY_RETURN_IF_ERROR(member(step)); break;
        case PathStep::Kind::kList: FOREBAY_RETURN_IF_ERROR(list()); break;
        case PathStep::Kind::kFixed:
          // The first dimension begins a level; the others widen its slots.
          if (!in_tensor) push_level();
          in_tensor = true;
          FOREBAY_RETURN_IF_ERROR(fixed());
          break;
      }
    }
    unwrap();
    FOREBAY_RETURN_IF_ERROR(add_validity());
    FOREBAY_RETURN_IF_ERROR(leaf_.strings() ? strings() : elements());
    return std::move(flat_);
  }

 private:
  void unwrap() {
    while (array_->type_id() == Type::EXTENSION) array_ = static_cast<const arrow::ExtensionArray&>(*array_).storage();
  }
  void push_level() {
    flat_.slots.push_back(slots_);
    flat_.valid.push_back(valid_);
  }

  Status add_validity();
  template <typename Test>
  Status mark(Test is_null);
  Status add_bitmap();
  Status member(const PathStep& step);
  Status fixed();
  Status list();
  template <typename Ends>
  Status descend(Ends ends, std::shared_ptr<arrow::Array> values);
  Status elements();
  Status strings();
  Status contiguous_strings();
  Status copied_strings();

  const Leaf& leaf_;
  const bool owned_;
  std::shared_ptr<arrow::Array> array_;
  std::vector<Segment> segments_;
  int64_t slots_;
  Buffer valid_;  // validity of the slots; empty while all are valid
  FlatLeaf flat_;
};

template <typename Test>
Status Walk::mark(Test is_null) {
  if (valid_.empty() && slots_ > 0) {
    FOREBAY_ASSIGN(valid_, take_memory(static_cast<size_t>(slots_)));
    std::memset(valid_.data(), 1, valid_.size());
  }
  uint8_t* slot = valid_.data();
  for (const Segment& segment : segments_) {
    for (int64_t index = segment.start; index < segment.start + segment.length; ++index, ++slot) {
      if (is_null(index)) *slot = 0;
    }
  }
  return {};
}

Status Walk::add_validity() {
  if (slots_ == 0) return {};
  if (array_->type_id() == Type::NA) return mark([](int64_t) { return true; });
  if (array_->type_id() == Type::DICTIONARY) {
    const auto& coded = static_cast<const arrow::DictionaryArray&>(*array_);
    const arrow::Array& entries = *coded.dictionary();
    if (entries.null_count() > 0)
      FOREBAY_RETURN_IF_ERROR(mark([&](int64_t index) {
        if (coded.IsNull(index)) return true;
        const int64_t entry = coded.GetValueIndex(index);
        // An index out of bounds is not a null. Gathering the values reports it as an error.
        return entry >= 0 && entry < entries.length() && entries.IsNull(entry);
      }));
  }
  return array_->null_count() == 0 || array_->null_bitmap_data() == nullptr ? Status() : add_bitmap();
}

Status Walk::add_bitmap() {
  const uint8_t* bits = array_->null_bitmap_data();
  const int64_t offset = array_->offset();
  if (!valid_.empty()) return mark([=](int64_t index) { return !arrow::bit_util::GetBit(bits, offset + index); });
  FOREBAY_ASSIGN(valid_, take_memory(static_cast<size_t>(slots_)));
  uint8_t* to = valid_.data();
  for (const Segment& segment : segments_) {
    unpack_bits(bits, offset + segment.start, segment.length, to);
    to += segment.length;
  }
  return {};
}

Status Walk::member(const PathStep& step) {
  if (array_->type_id() != Type::STRUCT) return corrupt("is no struct where the table's schema says so");
  const auto& parent = static_cast<const arrow::StructArray&>(*array_);
  // A struct of which one leaf was read has only that member, whatever its index in the table.
  const int child = parent.num_fields() == 1 ? 0 : step.child;
  if (child >= parent.num_fields()) return corrupt("has fewer members than the table's schema says");
  array_ = parent.field(child);
  return {};
}

// The slots of a tensor become its elements.
Status Walk::fixed() {
  if (array_->type_id() != Type::FIXED_SIZE_LIST)
    return corrupt("is no fixed-size list where the table's schema says so");
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*array_);
  const int64_t length = lists.value_length();
  if (slots_ > kMaxSlots / length) return corrupt("has more elements than can be");
  for (Segment& segment : segments_) segment = {lists.value_offset(segment.start), segment.length * length};
  if (!valid_.empty()) {
    FOREBAY_ASSIGN(Buffer wider, take_memory(static_cast<size_t>(slots_ * length)));
    for (int64_t slot = 0; slot < slots_; ++slot)
      std::memset(wider.data() + slot * length, valid_.data()[slot], static_cast<size_t>(length));
    valid_ = std::move(wider);
  }
  slots_ *= length;
  array_ = lists.values();
  for (const Segment& segment : segments_) {
    if (segment.start + segment.length > array_->length()) return corrupt("has fewer elements than its lists hold");
  }
  return {};
}

/// `ends(place)` returns begin and end of a list in `values`.
template <typename Ends>
Status Walk::descend(Ends ends, std::shared_ptr<arrow::Array> values) {
  FOREBAY_ASSIGN(Buffer offsets, take_memory(static_cast<size_t>(slots_ + 1) * sizeof(int64_t)));
  auto* out = reinterpret_cast<int64_t*>(offsets.data());
  std::vector<Segment> inner;
  int64_t total = 0, slot = 0;
  *out++ = 0;
  for (const Segment& segment : segments_) {
    for (int64_t index = segment.start; index < segment.start + segment.length; ++index, ++slot) {
      if (valid_.empty() || valid_.data()[slot] != 0) {
        const auto [begin, end] = ends(index);
        if (begin < 0 || end < begin || end > values->length()) return corrupt("a list lies outside of its elements");
        // Adjacent lists are one segment, so most columns stay a single view.
        if (inner.empty() || inner.back().start + inner.back().length != begin) {
          if (end > begin) inner.push_back({begin, end - begin});
        } else {
          inner.back().length += end - begin;
        }
        total += end - begin;
        if (total > kMaxSlots) return corrupt("its lists hold more elements than can be");
      }
      *out++ = total;
    }
  }
  push_level();
  flat_.offsets.push_back(std::move(offsets));
  segments_ = std::move(inner);
  slots_ = total;
  valid_ = Buffer();
  array_ = std::move(values);
  return {};
}

Status Walk::list() {
  using Range = std::pair<int64_t, int64_t>;
  switch (array_->type_id()) {
    case Type::LIST:
    case Type::MAP: {
      const auto& lists = static_cast<const arrow::ListArray&>(*array_);
      return descend([&lists](int64_t i) { return Range(lists.value_offset(i), lists.value_offset(i + 1)); },
                     lists.values());
    }
    case Type::LARGE_LIST: {
      const auto& lists = static_cast<const arrow::LargeListArray&>(*array_);
      return descend([&lists](int64_t i) { return Range(lists.value_offset(i), lists.value_offset(i + 1)); },
                     lists.values());
    }
    case Type::LIST_VIEW: {
      const auto& lists = static_cast<const arrow::ListViewArray&>(*array_);
      return descend(
          [&lists](int64_t i) {
            return Range(lists.value_offset(i), int64_t{lists.value_offset(i)} + lists.value_length(i));
          },
          lists.values());
    }
    case Type::LARGE_LIST_VIEW: {
      const auto& lists = static_cast<const arrow::LargeListViewArray&>(*array_);
      const int64_t end = lists.values()->length();
      return descend(
          [&lists, end](int64_t i) {
            const int64_t begin = lists.value_offset(i), length = lists.value_length(i);
            return length > end ? Range(-1, -1) : Range(begin, begin + length);
          },
          lists.values());
    }
    case Type::FIXED_SIZE_LIST: {
      const auto& lists = static_cast<const arrow::FixedSizeListArray&>(*array_);
      return descend([&lists](int64_t i) { return Range(lists.value_offset(i), lists.value_offset(i + 1)); },
                     lists.values());
    }
    default: return corrupt("is no list where the table's schema says so");
  }
}

// Has no branches, so that the cost does not depend on where the nulls are.
template <typename T>
void fill_with(const Buffer& valid, const std::string& fill, uint8_t* values) {
  T value, *out = reinterpret_cast<T*>(values);
  std::memcpy(&value, fill.data(), sizeof value);
  const uint8_t* there = valid.data();
  const size_t count = valid.size();
  for (size_t slot = 0; slot < count; ++slot) out[slot] = there[slot] != 0 ? out[slot] : value;
}

void fill_nulls(const Buffer& valid, const std::string& fill, uint8_t* values) {
  switch (fill.size()) {
    case 1: return fill_with<uint8_t>(valid, fill, values);
    case 2: return fill_with<uint16_t>(valid, fill, values);
    case 4: return fill_with<uint32_t>(valid, fill, values);
    default: return fill_with<uint64_t>(valid, fill, values);
  }
}

Status Walk::elements() {
  push_level();
  const FloatRounding rounding = leaf_.wanted ? FloatRounding::kNearest : FloatRounding::kExact;
  FOREBAY_ASSIGN(LeafValues values, leaf_values(*array_, segments_, slots_, leaf_.read_as(), rounding, owned_));
  const bool nulls = !valid_.empty() && std::memchr(valid_.data(), 0, valid_.size()) != nullptr;
  if (nulls && !values.owned) {
    FOREBAY_ASSIGN(Buffer own, take_memory(values.bytes.size()));
    std::memcpy(own.data(), values.bytes.data(), own.size());
    values.bytes = std::move(own);
    values.owned = true;
  }
  if (nulls && !values.exact.empty()) fill_nulls(valid_, std::string(1, '\1'), values.exact.data());
  flat_.exact = std::move(values.exact);
  if (nulls) fill_nulls(valid_, leaf_.nulls.bytes, values.bytes.data());
  flat_.values = std::move(values.bytes);
  flat_.owned = values.owned;
  return {};
}

/// Adjacent strings are viewed, so only their offsets are computed.
Status Walk::strings() {
  if (segments_.size() <= 1 && (valid_.empty() || leaf_.nulls.bytes.empty())) {
    switch (array_->type_id()) {
      case Type::STRING:
      case Type::BINARY:
      case Type::LARGE_STRING:
      case Type::LARGE_BINARY: return contiguous_strings();
      default: break;
    }
  }
  return copied_strings();
}

Status Walk::copied_strings() {
  FOREBAY_ASSIGN(const StringViews views, StringViews::of(*array_));
  FOREBAY_ASSIGN(Buffer offsets, take_memory(static_cast<size_t>(slots_ + 1) * sizeof(int64_t)));
  const std::span<const uint8_t> fill(reinterpret_cast<const uint8_t*>(leaf_.nulls.bytes.data()),
                                      leaf_.nulls.bytes.size());
  const auto each = [&](auto&& visit) {
    int64_t slot = 0;
    for (const Segment& segment : segments_) {
      for (int64_t index = segment.start; index < segment.start + segment.length; ++index, ++slot)
        visit(valid_.empty() || valid_.data()[slot] != 0 ? views[index] : fill);
    }
  };
  auto* offset = reinterpret_cast<int64_t*>(offsets.data());
  *offset = 0;
  each([&](std::span<const uint8_t> string) {
    offset[1] = offset[0] + static_cast<int64_t>(string.size());
    ++offset;
  });
  FOREBAY_ASSIGN(flat_.values, take_memory(static_cast<size_t>(*offset)));
  uint8_t* to = flat_.values.data();
  each([&](std::span<const uint8_t> string) {
    if (!string.empty()) std::memcpy(to, string.data(), string.size());
    to += string.size();
  });
  flat_.owned = true;
  push_level();
  flat_.offsets.push_back(std::move(offsets));
  return {};
}

Status Walk::contiguous_strings() {
  const auto begin = segments_.empty() ? 0 : segments_[0].start;
  const auto run = [&](const auto& strings) -> Status {
    const auto* from = strings.raw_value_offsets();
    const std::shared_ptr<arrow::Buffer> data = strings.value_data();
    const int64_t size = data ? data->size() : 0;
    FOREBAY_ASSIGN(Buffer offsets, take_memory(static_cast<size_t>(slots_ + 1) * sizeof(int64_t)));
    auto* to = reinterpret_cast<int64_t*>(offsets.data());
    const int64_t first = slots_ == 0 ? 0 : from[begin];
    bool rises = first >= 0;
    int64_t last = first;
    to[0] = 0;
    for (int64_t i = 0; i < slots_; ++i) {
      // Validate() has checked only the ends of the whole array. An offset in between may be any
      // number, and a difference may overflow.
      const int64_t end = from[begin + i + 1];
      rises = rises & (end >= last);
      last = end;
      to[i + 1] = static_cast<int64_t>(static_cast<uint64_t>(end) - static_cast<uint64_t>(first));
    }
    for (size_t i = 0; i < valid_.size(); ++i) {
      // A null that has bytes.
      if (valid_.data()[i] == 0 && to[i + 1] != to[i]) return copied_strings();
    }
    if (!rises || last > size) return corrupt("a string lies outside of the memory of its column");
    if (to[slots_] > 0)
      flat_.values = forebay_view(data).slice(static_cast<size_t>(first), static_cast<size_t>(to[slots_]));
    flat_.owned = owned_;
    push_level();
    flat_.offsets.push_back(std::move(offsets));
    return {};
  };
  if (array_->type_id() == Type::LARGE_STRING || array_->type_id() == Type::LARGE_BINARY)
    return run(static_cast<const arrow::LargeBinaryArray&>(*array_));
  return run(static_cast<const arrow::BinaryArray&>(*array_));
}

}  // namespace

Result<FlatLeaf> flatten(const std::shared_ptr<arrow::Array>& column, const Leaf& leaf, bool owned) {
  return Walk(column, leaf, owned).run();
}

}  // namespace forebay
