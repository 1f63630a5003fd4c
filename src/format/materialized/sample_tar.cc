#include "format/materialized/sample_tar.h"

#include <algorithm>

#include <fmt/format.h>

#include "codec/image.h"
#include "format/materialized/sample_columns.h"
#include "format/materialized/tar_writer.h"

namespace forebay {

namespace {

bool is_picture(const StoredField& stored) {
  return stored.encoded || (stored.field.kind == FieldKind::kBytes && stored.field.image);
}

bool is_label(const Field& field) {
  return field.name == "label" && field.kind == FieldKind::kTensor && field.shape.rank() == 0 && field.fixed_shape() &&
         (field.dtype == DType::kInt64 || field.dtype == DType::kInt32);
}

std::string_view ending_of_picture(std::span<const uint8_t> bytes) {
  const Result<ImageInfo> info = probe_image(bytes);
  if (!info.ok()) return "bin";
  return info->format == ImageFormat::kJpeg ? "jpg" : image_format_name(info->format);
}

// "|b1" or "<f4", as NumPy writes types.
std::string numpy_type(DType dtype) {
  const std::string_view name = dtype_name(dtype);
  if (dtype == DType::kBool) return "|b1";
  const char kind = name.starts_with("float") ? 'f' : name.starts_with("uint") ? 'u' : 'i';
  return fmt::format("{}{}{}", dtype_size(dtype) == 1 ? '|' : '<', kind, dtype_size(dtype));
}

std::string npy_head(const Tensor& tensor) {
  std::string shape;
  for (const int64_t dim : tensor.shape) shape += fmt::format("{}, ", dim);
  if (tensor.shape.rank() > 1) shape.resize(shape.size() - 2);
  // "(3,)": Python keeps the comma of a one-element tuple.
  if (tensor.shape.rank() == 1) shape.resize(shape.size() - 1);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", numpy_type(tensor.dtype), shape);
  // NEP 1: magic, version and length take ten bytes, and values begin at a multiple of 64.
  constexpr size_t kBefore = 10, kAligned = 64;
  text.append((kAligned - (kBefore + text.size() + 1) % kAligned) % kAligned, ' ');
  text += '\n';
  std::string head = "\x93NUMPY\x01";
  head += '\0';
  head += static_cast<char>(text.size() & 0xFF);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

std::span<const uint8_t> text_span(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class SampleTarWriter {
 public:
  SampleTarWriter(std::span<const StoredField> fields, StoredFormat format)
      : fields_(fields), format_(format), several_(std::count_if(fields.begin(), fields.end(), is_picture) > 1) {}

  /// Adds the members of a sample. Returns the ranges of the values that are not in the index.
  Result<SampleRange> add(int64_t id, const Record& sample) {
    std::vector<ByteRange> ranges;
    for (size_t i = 0; i < fields_.size(); ++i) {
      FOREBAY_ASSIGN(const ByteRange range, add_field(fmt::format("{:09}", id), fields_[i], sample[i]));
      if (!fields_[i].in_index) ranges.push_back(range);
    }
    return SampleRange::around(std::move(ranges));
  }
  Buffer take() { return tar_.take(); }

 private:
  std::string picture_name(const std::string& id, const Field& field, std::string_view ending) const {
    return several_ ? fmt::format("{}.{}.{}", id, field.name, ending) : fmt::format("{}.{}", id, ending);
  }

  Result<ByteRange> add_field(const std::string& id, const StoredField& stored, const Value& value) {
    const Field& field = stored.field;
    const std::span<const uint8_t> bytes = bytes_of(value);
    if (stored.encoded)
      return tar_.add(picture_name(id, field, format_ == StoredFormat::kJpeg ? "jpg" : "png"), value.bytes.span());
    if (is_picture(stored)) return tar_.add(picture_name(id, field, ending_of_picture(bytes)), bytes);
    if (is_label(field)) return add_label(id, value.tensor);
    if (field.kind == FieldKind::kText) return tar_.add(fmt::format("{}.{}.txt", id, field.name), bytes);
    if (field.kind == FieldKind::kBytes) return tar_.add(fmt::format("{}.{}.bin", id, field.name), bytes);
    const std::string head = npy_head(value.tensor);
    std::vector<uint8_t> file(head.begin(), head.end());
    file.insert(file.end(), bytes.begin(), bytes.end());
    FOREBAY_ASSIGN(const ByteRange range, tar_.add(fmt::format("{}.{}.npy", id, field.name), file));
    return ByteRange{range.offset + head.size(), bytes.size()};
  }

  Result<ByteRange> add_label(const std::string& id, const Tensor& tensor) {
    const int64_t number = tensor.dtype == DType::kInt64 ? *tensor.data<int64_t>() : int64_t{*tensor.data<int32_t>()};
    return tar_.add(id + ".cls", text_span(std::to_string(number)));
  }

  const std::span<const StoredField> fields_;
  const StoredFormat format_;
  const bool several_;
  TarWriter tar_;
};

}  // namespace

Status check_tar_fields(std::span<const StoredField> fields) {
  for (const StoredField& stored : fields) {
    const Field& field = stored.field;
    if (field.string_list())
      return unsupported(
          fmt::format("the field '{}' is a list of strings, for which there is no member of a tar; write "
                      "format=\"arrow\", or leave "
                      "it out with .select()",
                      field.name));
    if (field.name.find('/') != std::string::npos || field.name.find('.') != std::string::npos)
      return unsupported(fmt::format(
          "the field '{}' has '.' or '/' in its name, which separate names in a tar; give it another with .rename()",
          field.name));
  }
  return {};
}

Result<ShardFiles> write_sample_tar(std::span<const StoredField> fields, int64_t first, std::span<const Record> samples,
                                    StoredFormat format, const TableCodecs& codecs) {
  FOREBAY_RETURN_IF_ERROR(check_tar_fields(fields));
  FOREBAY_RETURN_IF_ERROR(check_samples(fields, samples));
  SampleTarWriter writer(fields, format);
  std::vector<SampleRange> ranges;
  for (size_t row = 0; row < samples.size(); ++row) {
    FOREBAY_ASSIGN(SampleRange range, writer.add(first + static_cast<int64_t>(row), samples[row]));
    ranges.push_back(std::move(range));
  }
  ShardFiles files{writer.take(), {}};
  FOREBAY_ASSIGN(const Columns index, index_of(fields, samples, ranges, files.data));
  FOREBAY_ASSIGN(WrittenTable written, codecs.write_arrow_file({&index, 1}, ""));
  files.index = written.bytes.together();
  return files;
}

}  // namespace forebay
