#include "format/hdf5/preloaded_values.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/utf8.h"
#include "format/hdf5/heaps.h"
#include "format/hdf5/rows.h"

namespace forebay {

namespace {

constexpr uint64_t kRowsAtOnce = 64 << 10;

Status too_many_kept() {
  return unsupported(
      fmt::format("values of varying length of more than {} MiB in one file; write them as texts of fixed length, or "
                  "the numbers end to end with a data set of offsets",
                  kHdf5MostPreloadedBytes >> 20));
}

/// The bytes that a reference in the file stands for.
Result<Buffer> follow_reference(Hdf5Metadata& file, Hdf5GlobalHeap& heap, const uint8_t* reference,
                                const Hdf5Type& type) {
  Hdf5Cursor in(std::span(reference, type.bytes), file.sizes());
  const uint64_t count = in.u32(), collection = in.address();
  const uint32_t index = in.u32();
  if (in.failed()) return hdf5_damaged("a value of varying length");
  FOREBAY_ASSIGN(const Buffer all, heap.get(file, collection, index));
  // Cannot overflow, because both factors have 32 bits.
  const uint64_t bytes = count * type.base[0].bytes;
  if (bytes > all.size()) return hdf5_damaged("a value of varying length is longer than what is kept of it");
  return all.slice(0, bytes);
}

std::string_view as_text(const Buffer& bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // Libraries differ in whether they store a text's terminating zero.
  return text.substr(0, text.find('\0'));
}

ColumnValues one_value(const void* bytes, size_t size, bool is_text) {
  ColumnValues made{Buffer::allocate(size), {}};
  if (size > 0) std::memcpy(made.values.data(), bytes, size);
  if (!is_text) return made;
  made.offsets = Buffer::allocate(2 * sizeof(int64_t));
  const int64_t offsets[] = {0, static_cast<int64_t>(size)};
  std::memcpy(made.offsets.data(), offsets, sizeof offsets);
  return made;
}

/// Collects values of variable length row by row.
class Varying {
 public:
  Varying(Hdf5Metadata& file, const Hdf5Column& column, uint64_t& taken)
      : file_(file), column_(column), taken_(taken) {}

  Status add(const uint8_t* reference) {
    FOREBAY_ASSIGN(const Buffer value, follow_reference(file_, heap_, reference, column_.leaf));
    if (column_.leaf.varying_string) {
      const std::string_view text = as_text(value);
      FOREBAY_RETURN_IF_ERROR(take(text.size()));
      values_.insert(values_.end(), text.begin(), text.end());
      offsets_.push_back(static_cast<int64_t>(values_.size()));
      return {};
    }
    const uint64_t bytes = column_.leaf.base[0].bytes, count = value.size() / bytes;
    FOREBAY_RETURN_IF_ERROR(take(value.size()));
    const size_t at = values_.size();
    values_.resize(at + value.size());
    if (count > 0) column_.numbers.convert(value.data(), bytes, count, 1, values_.data() + at);
    offsets_.push_back(offsets_.back() + static_cast<int64_t>(count));
    return {};
  }

  ColumnValues done() {
    ColumnValues made{Buffer::allocate(values_.size()), Buffer::allocate(offsets_.size() * sizeof(int64_t))};
    std::ranges::copy(values_, made.values.data());
    std::memcpy(made.offsets.data(), offsets_.data(), made.offsets.size());
    return made;
  }

 private:
  Status take(uint64_t bytes) {
    taken_ += bytes + sizeof(int64_t);
    return taken_ > kHdf5MostPreloadedBytes ? too_many_kept() : Status();
  }

  Hdf5Metadata& file_;
  const Hdf5Column& column_;
  uint64_t& taken_;
  Hdf5GlobalHeap heap_;
  std::vector<uint8_t> values_;
  std::vector<int64_t> offsets_ = {0};
};

}  // namespace

Result<ColumnValues> read_hdf5_varying(Hdf5Metadata& file, const Hdf5DataSet& data, const Hdf5Column& column,
                                       uint64_t& taken) {
  const uint64_t reference = column.leaf.bytes, rows = data.rows();
  if (column.leaf.bytes < 8u + file.sizes().address) return hdf5_damaged("a value of varying length");
  if (rows > kHdf5MostPreloadedBytes / reference) return too_many_kept();
  // At least the rows of a chunk, because a longer chunk would be inflated once per part.
  const uint64_t at_once = std::max<uint64_t>(1, std::max(kRowsAtOnce, data.chunk.empty() ? 0 : data.chunk[0]));
  Varying varying(file, column, taken);
  Hdf5Filtering filtering;
  WorkMemory memory(2 * kHdf5MostPreloadedBytes);
  const Hdf5Stored stored = [&](uint64_t address, uint64_t bytes) { return file.read(address, bytes); };
  for (uint64_t first = 0; first < rows; first += at_once) {
    const uint64_t count = std::min(at_once, rows - first);
    Buffer references = Buffer::allocate(count * reference);
    Hdf5Extract extract{reference, {}, references.data()};
    extract.convert = [&](const uint8_t* elements, uint64_t n, uint8_t* out) {
      for (uint64_t i = 0; i < n; ++i)
        std::memcpy(out + i * reference, elements + i * data.type.bytes + column.offset, reference);
    };
    const Status read = read_hdf5_rows(data, first, count, stored, std::span(&extract, 1), filtering, memory);
    if (read.code() == Code::kOutOfBudget) return too_many_kept();
    if (!read.ok()) return read;
    for (uint64_t row = 0; row < count; ++row)
      FOREBAY_RETURN_IF_ERROR(varying.add(references.data() + row * reference));
  }
  return varying.done();
}

namespace {

Status text_constant(Hdf5Metadata& file, const Hdf5Attribute& attribute, const Hdf5Type& leaf, Hdf5Column& column) {
  if (attribute.space.elements() != 1 || attribute.type.kind == Hdf5Type::Kind::kArray)
    return unsupported("a row cannot hold an attribute of several texts; name an attribute of a single text");
  column.field.kind = FieldKind::kText;
  std::string_view value;
  Buffer bytes;
  if (leaf.kind == Hdf5Type::Kind::kString) {
    value = hdf5_text(leaf, attribute.values.data());
  } else {
    Hdf5GlobalHeap heap;
    FOREBAY_ASSIGN(bytes, follow_reference(file, heap, attribute.values.data(), leaf));
    value = as_text(bytes);
  }
  if (!is_utf8(value)) return corrupt("the attribute's text is not UTF-8");
  column.preloaded = one_value(value.data(), value.size(), true);
  return {};
}

Status numeric_constant(const Hdf5Attribute& attribute, const Hdf5Type& leaf, const std::vector<int64_t>& dims,
                        Hdf5Column& column) {
  FOREBAY_ASSIGN(column.numbers, Hdf5Numbers::of(leaf));
  if (dims.size() >= Shape::kMaxRank) return unsupported("the attribute has more axes than a batch has room for");
  column.field.dtype = column.numbers.dtype();
  for (const int64_t dim : dims) column.field.shape.push_back(dim);
  const uint64_t count = attribute.values.size() / leaf.bytes;
  column.preloaded = one_value(nullptr, 0, false);
  column.preloaded.values = Buffer::allocate(count * dtype_size(column.field.dtype));
  if (count > 0) column.numbers.convert(attribute.values.data(), leaf.bytes, count, 1, column.preloaded.values.data());
  return {};
}

}  // namespace

Status hdf5_constant(Hdf5Metadata& file, const Hdf5Attribute& attribute, Hdf5Column& column) {
  if (attribute.space.empty) return unsupported("the attribute is empty");
  Hdf5Type leaf = attribute.type;
  std::vector<int64_t> dims(attribute.space.dims.begin(), attribute.space.dims.end());
  while (leaf.kind == Hdf5Type::Kind::kArray) {
    dims.insert(dims.end(), leaf.dims.begin(), leaf.dims.end());
    Hdf5Type inner = std::move(leaf.base[0]);
    leaf = std::move(inner);
  }
  const bool text =
      leaf.kind == Hdf5Type::Kind::kString || (leaf.kind == Hdf5Type::Kind::kVarying && leaf.varying_string);
  return text ? text_constant(file, attribute, leaf, column) : numeric_constant(attribute, leaf, dims, column);
}

}  // namespace forebay
