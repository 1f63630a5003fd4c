#include "materialize/check_format.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "format/materialized/sample_tar.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// Steps that pass encoded pictures on unchanged.
constexpr std::string_view kStepsThatKeepBytes[] = {"shuffle", "select", "rename", "take", "cache"};

bool has_picture(const StoredField& stored) {
  return stored.encoded || (stored.field.image && stored.field.kind == FieldKind::kBytes);
}

Status check_element_type(const Field& field) {
  if (field.kind != FieldKind::kTensor || field.dtype != DType::kBfloat16) return {};
  return unsupported(
      fmt::format("the field '{}' is bfloat16, for which Arrow, Parquet and .npy have no type; cut before "
                  ".cast(\"bfloat16\"), or put .cast(\"float32\") there",
                  field.name));
}

Status check_sample_format(StoredFormat format, const std::vector<StoredField>& fields) {
  if (format == StoredFormat::kParquet)
    return unsupported(
        "format=\"parquet\" is for tables, and these samples are read one by one; write \"arrow\" or \"wds\"");
  if (format == StoredFormat::kJpeg && std::none_of(fields.begin(), fields.end(), has_picture))
    return unsupported(
        "format=\"jpeg\": no field is a picture, encoded or of 8 bits in 1 or 3 channels; cut after .decode_image() "
        "or .resize()");
  return format == StoredFormat::kArrow ? Status() : check_tar_fields(fields);
}

Status check_table_field(const Field& field) {
  if (field.kind == FieldKind::kTensor && !field.fixed_shape() && !is_ragged(field))
    return unsupported(
        fmt::format("the field '{}' has another shape in each row ({}), which a column cannot hold; cut after a "
                    "step that gives all one shape",
                    field.name, field.to_string()));
  if (field.name == "id")
    return invalid_argument(
        "a column 'id' is written beside the fields, and one field has that name; give it another name with "
        ".rename()");
  return {};
}

Status check_jpeg_options(const MaterializeOptions& options, StoredFormat format) {
  if (format != StoredFormat::kJpeg && (options.quality || options.limit))
    return invalid_argument("quality and limit are for format=\"jpeg\"; the other formats are lossless");
  if (options.restart_markers && (format != StoredFormat::kJpeg || options.quality || options.limit))
    return invalid_argument(
        "restart_markers is for format=\"jpeg\", without quality and limit: pictures stay as they are");
  if (options.quality && (*options.quality < 1 || *options.quality > 100))
    return invalid_argument(fmt::format("quality is {}; it is 1 to 100", *options.quality));
  if (options.limit && *options.limit < 1)
    return invalid_argument(fmt::format("limit is {}; it is the longest side, 1 or more", *options.limit));
  return {};
}

Status check_samples(const MaterializeOptions& options, const std::vector<StoredField>& fields) {
  FOREBAY_RETURN_IF_ERROR(check_sample_format(*stored_format(options.format), fields));
  const auto pixels = std::ranges::find_if(fields, &StoredField::encoded);
  if (options.restart_markers && pixels != fields.end())
    return unsupported(fmt::format("restart_markers: the field '{}' is decoded already; cut before .decode_image()",
                                   pixels->field.name));
  if (options.compression.empty()) return {};
  return unsupported(
      "compression: samples that are read one by one are written as they are; it is for tables. Leave it out");
}

Status check_table(const MaterializeOptions& options, const std::vector<StoredField>& fields) {
  const StoredFormat format = *stored_format(options.format);
  if (format == StoredFormat::kWds || format == StoredFormat::kJpeg)
    return unsupported(
        fmt::format("format=\"{}\" is for samples that are read one by one, and this is a table; write "
                    "\"arrow\" or \"parquet\"",
                    options.format));
  for (const StoredField& stored : fields) FOREBAY_RETURN_IF_ERROR(check_table_field(stored.field));
  return {};
}

}  // namespace

Status check_options(const MaterializeOptions& options) {
  if (!options.compression.empty() && options.compression != "lz4" && options.compression != "zstd")
    return invalid_argument(fmt::format("compression is '{}'; it is lz4, zstd or none", options.compression));
  const std::optional<StoredFormat> format = stored_format(options.format);
  if (!format)
    return invalid_argument(fmt::format("format is '{}'; it is arrow, parquet, wds or jpeg", options.format));
  FOREBAY_RETURN_IF_ERROR(check_jpeg_options(options, *format));
  if (options.shards && *options.shards < 1)
    return invalid_argument(fmt::format("shards is {}; it is 1 or more", *options.shards));
  return {};
}

Status check_restart_markers(const Description& description, size_t cut) {
  const auto& steps = description.steps();
  size_t next = cut + 1;
  while (next < steps.size() && std::ranges::count(kStepsThatKeepBytes, steps[next].name) > 0) ++next;
  if (next < steps.size() && steps[next].name == "decode_image") return {};
  return invalid_argument(
      "restart_markers keeps the pixels of pictures, not the bytes of their files: .decode_image() has to follow the "
      "cut, before other steps look at them");
}

Status check_format(const MaterializeOptions& options, const std::vector<StoredField>& fields, bool is_table) {
  for (const StoredField& stored : fields) FOREBAY_RETURN_IF_ERROR(check_element_type(stored.field));
  return is_table ? check_table(options, fields) : check_samples(options, fields);
}

// The caller adds the location as the key, which is the subject of both messages.
Status check_may_replace(bool same_steps, bool update) {
  if (!same_steps)
    return invalid_argument(
        "holds something else that was finished there: another pipeline, cut or format; give another folder, or "
        "remove this one");
  if (!update)
    return invalid_argument(
        "was made of another version of the data; give update=True (--update) to bring it up to date, where only what "
        "is new is made, or another folder");
  return {};
}

}  // namespace forebay
