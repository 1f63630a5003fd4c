#include "format/arrays.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/remembered_hashes.h"
#include "format/files/mapped_file.h"
#include "format/files/open_store.h"
#include "format/npy_file.h"
#include "format/text_rows.h"

namespace forebay {

namespace {

// At most 1 MiB per array, because opening a mapped array must not read all of it.
constexpr int64_t kSampledRows = 256;
constexpr size_t kSampledRowBytes = 4096;
// Rows of a shuffled batch are cache misses, so some are prefetched before they are needed.
constexpr size_t kPrefetchAhead = 8;
constexpr size_t kPrefetchBytes = 1024;  // the hardware prefetches longer rows
constexpr size_t kCacheLine = 64;
// Hashing a shorter row takes less time than looking up its hash.
constexpr size_t kCachedHashBytes = 256;

/// Adds this source's name, so that the user finds the step.
Status with_arrays_operator(Status status) { return status.ok() ? status : std::move(status).with_operator("arrays"); }

/// A row of a mapped file. It is copied when it is used, directly to its destination if no operator
/// changes it.
class MappedRow final : public Deferred {
 public:
  MappedRow(std::shared_ptr<const MappedFile> file, DType dtype, const Shape& shape, const uint8_t* data)
      : file_(std::move(file)), dtype_(dtype), shape_(shape), data_(data) {}
  DType dtype() const override { return dtype_; }
  Shape shape() const override { return shape_; }
  Status write(std::span<uint8_t> out, WorkMemory&) override {
    if (out.empty()) return {};
    return with_arrays_operator(file_->read([&] { std::memcpy(out.data(), data_, out.size()); }));
  }
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<MappedRow>(*this); }

 private:
  std::shared_ptr<const MappedFile> file_;
  DType dtype_;
  Shape shape_;
  const uint8_t* data_;
};

/// One array, as rows of equal size.
class Rows {
 public:
  Rows(std::string name, ArrayView view) : name_(std::move(name)), view_(std::move(view)) {
    for (size_t i = 1; i < view_.shape.rank(); ++i) row_shape_.push_back(view_.shape[i]);
    row_bytes_ = static_cast<size_t>(row_shape_.elements()) * dtype_size(view_.dtype);
    row_stride_ = static_cast<int64_t>(row_bytes_);
    if (view_.strides.empty()) return;
    // May be 0 or negative, as in NumPy. Only the stride determines the place of a row.
    row_stride_ = view_.strides[0];
    auto expected = static_cast<int64_t>(dtype_size(view_.dtype));
    for (size_t i = view_.shape.rank(); i-- > 1;) {
      // NumPy allows any stride on an axis of one element.
      if (view_.shape[i] > 1 && view_.strides[i] != expected) dense_rows_ = false;
      expected *= view_.shape[i];
    }
  }

  const std::string& name() const { return name_; }
  DType dtype() const { return view_.dtype; }
  const Shape& row_shape() const { return row_shape_; }
  bool text() const { return view_.text; }
  size_t row_bytes() const { return row_bytes_; }
  bool dense_rows() const { return dense_rows_; }
  int64_t count() const { return view_.shape[0]; }
  const uint8_t* row(int64_t i) const { return view_.data + i * row_stride_; }

  Result<Value> value(int64_t i) const {
    if (view_.text) return text_value(i);
    if (view_.file) return Value::of(std::make_unique<MappedRow>(view_.file, view_.dtype, row_shape_, row(i)));
    // Nobody writes to a source's values, because operators copy what they change.
    Buffer bytes(const_cast<uint8_t*>(row(i)), row_bytes_, view_.owner);
    if (!dense_rows_) {
      bytes = Buffer::allocate(row_bytes_);
      copy(i, 0, row_bytes_, bytes.data());
    }
    return Value::of(Tensor{view_.dtype, row_shape_, std::move(bytes)});
  }

  Result<Value> text_value(int64_t i) const {
    Buffer characters = Buffer::allocate(row_bytes_);
    if (view_.file) {
      FOREBAY_RETURN_IF_ERROR(
          with_arrays_operator(view_.file->read([&] { copy(i, 0, row_bytes_, characters.data()); })));
    } else {
      copy(i, 0, row_bytes_, characters.data());
    }
    Result<Buffer> text = text_of_row(characters.span(), view_.dtype);
    if (!text.ok())
      return Status(text.status().code(), fmt::format("the field '{}': {}", name_, text.status().message()));
    return Value::of_text(std::move(*text));
  }

  /// Copies a part of row `i` in C order; `begin` and `size` are multiples of an element.
  void copy(int64_t i, size_t begin, size_t size, uint8_t* out) const {
    if (dense_rows_) {
      if (size > 0) std::memcpy(out, row(i) + begin, size);
      return;
    }
    const size_t item = dtype_size(view_.dtype);
    for (size_t element = begin / item; element < (begin + size) / item; ++element, out += item) {
      const uint8_t* from = row(i);
      auto rest = static_cast<int64_t>(element);
      for (size_t axis = view_.shape.rank(); axis-- > 1;) {
        from += rest % view_.shape[axis] * view_.strides[axis];
        rest /= view_.shape[axis];
      }
      std::memcpy(out, from, item);
    }
  }

  Status gather(std::span<const int64_t> ids, uint8_t* out) const {
    if (view_.file) return with_arrays_operator(view_.file->read([&] { gather_all(ids, out); }));
    gather_all(ids, out);
    return {};
  }
  Status check_length() const { return view_.file ? with_arrays_operator(view_.file->check_length()) : Status(); }

  Status hash_sample(Hasher& hasher) const;
  void hash_row(int64_t i, Hasher& hasher) const;

 private:
  void gather_all(std::span<const int64_t> ids, uint8_t* out) const {
    if (!dense_rows_) {
      for (size_t i = 0; i < ids.size(); ++i) copy(ids[i], 0, row_bytes_, out + i * row_bytes_);
      return;
    }
    switch (row_bytes_) {  // a call of memcpy costs more than such a copy
      case 1: return gather_fixed<1>(ids, out);
      case 2: return gather_fixed<2>(ids, out);
      case 4: return gather_fixed<4>(ids, out);
      case 8: return gather_fixed<8>(ids, out);
      case 16: return gather_fixed<16>(ids, out);
      default: return gather_rows(ids, out);
    }
  }
  void prefetch(std::span<const int64_t> ids, size_t i) const {
    if (i + kPrefetchAhead >= ids.size()) return;
    const uint8_t* next = row(ids[i + kPrefetchAhead]);
    for (size_t at = 0; at < std::min(row_bytes_, kPrefetchBytes); at += kCacheLine) __builtin_prefetch(next + at);
  }
  template <size_t kBytes>
  void gather_fixed(std::span<const int64_t> ids, uint8_t* out) const {
    for (size_t i = 0; i < ids.size(); ++i) {
      prefetch(ids, i);
      std::memcpy(out + i * kBytes, row(ids[i]), kBytes);
    }
  }
  void gather_rows(std::span<const int64_t> ids, uint8_t* out) const {
    if (row_bytes_ == 0) return;
    for (size_t i = 0; i < ids.size(); ++i) {
      prefetch(ids, i);
      std::memcpy(out + i * row_bytes_, row(ids[i]), row_bytes_);
    }
  }

  std::string name_;
  ArrayView view_;
  Shape row_shape_;
  size_t row_bytes_ = 0;
  int64_t row_stride_ = 0;
  bool dense_rows_ = true;
};

/// Hashes rows spread over the whole array. Of each row it hashes a window whose position differs
/// from row to row.
Status Rows::hash_sample(Hasher& hasher) const {
  const size_t item = dtype_size(view_.dtype);
  const size_t window = std::min(row_bytes_, kSampledRowBytes / item * item);
  uint8_t bytes[kSampledRowBytes];
  const int64_t rows = std::min(count(), kSampledRows);
  for (int64_t k = 0; k < rows; ++k) {
    // 128 bits, because there may be 2^63 rows. The first and the last row are always included.
    const int64_t i = rows == 1 ? 0 : static_cast<int64_t>(static_cast<__int128>(count() - 1) * k / (rows - 1));
    const size_t windows = (row_bytes_ - window) / item + 1;
    // Multiples of the golden ratio spread the windows evenly over a row, and equally in every run.
    const size_t begin = static_cast<size_t>(static_cast<uint64_t>(k) * 0x9E3779B97F4A7C15u % windows) * item;
    const auto take = [&] { copy(i, begin, window, bytes); };
    if (view_.file) {
      FOREBAY_RETURN_IF_ERROR(with_arrays_operator(view_.file->read(take)));
    } else {
      take();
    }
    hasher.update(bytes, window);
  }
  return check_length();
}

/// Hashes the identity of row `i`: its place and the version of its file, whose bytes may not be in
/// memory, or else its bytes.
void Rows::hash_row(int64_t i, Hasher& hasher) const {
  if (view_.file) {
    hasher.update_value(view_.file->version());
    hasher.update_value(view_.file->size());
    return hasher.update_value(i);
  }
  if (dense_rows_) return hasher.update(row(i), row_bytes_);
  const size_t most = kSampledRowBytes / dtype_size(view_.dtype) * dtype_size(view_.dtype);
  uint8_t bytes[kSampledRowBytes];
  for (size_t begin = 0; begin < row_bytes_; begin += most) {
    const size_t piece = std::min(most, row_bytes_ - begin);
    copy(i, begin, piece, bytes);
    hasher.update(bytes, piece);
  }
}

class Arrays final : public SampleSource {
 public:
  static Result<std::unique_ptr<Source>> open(std::vector<Rows> rows) {
    std::unique_ptr<Arrays> source(new Arrays(std::move(rows)));
    FOREBAY_RETURN_IF_ERROR(source->describe());
    return std::unique_ptr<Source>(std::move(source));
  }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return rows_[0].count(); }
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override { return hashes_.bytes(); }
  std::string key(int64_t id) const override { return fmt::format("row {}", id); }
  std::optional<Identity> identity(int64_t id) const override {
    if (const std::optional<Hash128> known = hashes_.find(id)) return known;
    Hasher hasher;
    hasher.update_value(types_.high);
    hasher.update_value(types_.low);
    for (const Rows& field : rows_) field.hash_row(id, hasher);
    const Hash128 identity = hasher.digest();
    if (caches_hashes_) hashes_.keep(id, identity);
    return identity;
  }
  Fetch fetch(int64_t) const override { return {}; }

  Status load(int64_t id, Buffer, Record& record) const override {
    record.clear();
    for (const Rows& field : rows_) {
      FOREBAY_ASSIGN(Value value, field.value(id));
      record.push_back(std::move(value));
    }
    return {};
  }

  bool gathers(size_t field) const override { return !rows_[field].text(); }
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override {
    return rows_[field].gather(ids, out);
  }
  Status check_intact() const override {
    for (const Rows& field : rows_) FOREBAY_RETURN_IF_ERROR(field.check_length());
    return {};
  }

 private:
  explicit Arrays(std::vector<Rows> rows) : rows_(std::move(rows)), hashes_(rows_[0].count()) {
    for (const Rows& field : rows_) caches_hashes_ = caches_hashes_ || field.row_bytes() >= kCachedHashBytes;
  }

  Status describe() {
    Hasher hasher, types;
    for (const Rows& field : rows_) {
      Field description;
      description.name = field.name();
      description.kind = field.text() ? FieldKind::kText : FieldKind::kTensor;
      description.dtype = field.dtype();
      description.shape = field.text() ? Shape() : field.row_shape();
      schema_.push_back(description);
      types.update(fmt::format("{}\n{}\n{}{}\n", field.name().size(), description.to_string(),
                               dtype_name(field.dtype()), field.row_shape().to_string()));
      hasher.update(fmt::format("{}\n{}{}\n{}{}\n", field.name(), field.text() ? "text of " : "",
                                dtype_name(field.dtype()), field.count(), field.row_shape().to_string()));
      FOREBAY_RETURN_IF_ERROR(field.hash_sample(hasher));
    }
    version_ = hasher.digest();
    types_ = types.digest();
    return {};
  }

  std::vector<Rows> rows_;
  Schema schema_;
  Hash128 version_, types_;
  bool caches_hashes_ = false;
  mutable RememberedHashes hashes_;  // hashes of rows for which hashing takes longer than a lookup
};

Status check_view(const ArrayField& field) {
  const ArrayView& view = field.array;
  if (view.shape.rank() == 0) {
    return invalid_argument(
        fmt::format("array '{}' is a single number; its first axis must count the samples", field.name));
  }
  if (view.text && (view.shape.rank() != 2 || (view.dtype != DType::kUint8 && view.dtype != DType::kUint32))) {
    return invalid_argument(
        fmt::format("array '{}' of text is {} {}; a text a sample is needed: (samples, characters) of uint8 or uint32",
                    field.name, dtype_name(view.dtype), view.shape.to_string()));
  }
  for (const int64_t dim : view.shape) {
    if (dim < 0) return invalid_argument(fmt::format("array '{}' has a negative dimension", field.name));
  }
  if (!view.strides.empty() && view.strides.size() != view.shape.rank()) {
    return invalid_argument(
        fmt::format("array '{}' has {} strides for {} axes", field.name, view.strides.size(), view.shape.rank()));
  }
  return {};
}

/// Maps the array of a field that is a file.
Status resolve(ArrayField& field) {
  if (!field.path.empty()) {
    FOREBAY_ASSIGN(const UrlPlace where, parse_url(field.path));
    if (!where.store.empty()) {
      return unsupported(
          fmt::format("'{}': arrays are mapped into memory, so they must be local files; copy it to a local "
                      "folder",
                      field.path));
    }
    auto mapped = map_npy_file(where.path);
    if (!mapped.ok()) return mapped.status();
    field.array = std::move(*mapped);
  }
  return check_view(field);
}

Status check_first_axes(const std::vector<ArrayField>& fields) {
  std::string lengths;
  bool equal = true;
  for (const ArrayField& field : fields) {
    equal = equal && field.array.shape[0] == fields[0].array.shape[0];
    lengths += fmt::format("{}{}: {}", lengths.empty() ? "" : ", ", field.name, field.array.shape[0]);
  }
  if (equal) return {};
  return invalid_argument(fmt::format("the arrays differ in their number of samples (first axis): {}", lengths));
}

}  // namespace

Result<std::unique_ptr<Source>> open_arrays(std::vector<ArrayField> fields) {
  if (fields.empty()) return invalid_argument("fb.arrays needs at least one array, as in fb.arrays(x=x, y=y)");
  std::set<std::string_view> names;
  for (ArrayField& field : fields) {
    if (!names.insert(field.name).second)
      return invalid_argument(fmt::format("two arrays are called '{}'", field.name));
    FOREBAY_RETURN_IF_ERROR(resolve(field));
  }
  FOREBAY_RETURN_IF_ERROR(check_first_axes(fields));
  std::vector<Rows> rows;
  for (ArrayField& field : fields) rows.emplace_back(std::move(field.name), std::move(field.array));
  return Arrays::open(std::move(rows));
}

}  // namespace forebay
