#include "materialize/stored_pictures.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "codec/encode_image.h"
#include "codec/image.h"
#include "codec/jpeg_restart.h"
#include "ops/image/lazy_image.h"

namespace forebay {

namespace {

using Picture = std::unique_ptr<LazyImage>;

// Scales a picture down so that its longest side is within the limit, as .resize() does.
Result<Tensor> scaled_to_limit(Picture picture, int64_t limit) {
  WorkMemory memory;
  const int64_t longest = std::max(picture->height(), picture->width());
  if (limit > 0 && longest > limit) {
    const auto shorter = [&](int64_t side) { return std::max<int64_t>((side * limit + longest / 2) / longest, 1); };
    FOREBAY_RETURN_IF_ERROR(
        picture->resize(shorter(picture->height()), shorter(picture->width()), Interpolation::kBilinear, memory));
  }
  FOREBAY_ASSIGN(const Tensor* const pixels, picture->pixels(memory));
  return *pixels;
}

Result<Buffer> reencoded_jpeg(const MaterializedManifest& manifest, Buffer file) {
  FOREBAY_ASSIGN(const ImageInfo info, probe_image(file.span()));
  const ColorMode mode = info.components == 1 ? ColorMode::kGray : ColorMode::kRgb;
  FOREBAY_ASSIGN(const Tensor pixels,
                 scaled_to_limit(LazyImage::of_encoded(std::move(file), info, mode), manifest.limit));
  return encode_jpeg(pixels, manifest.quality);
}

Status encode_pixels(const MaterializedManifest& manifest, const Field& field, Value& value) {
  if (manifest.format == StoredFormat::kWds) {
    FOREBAY_ASSIGN(value.bytes, encode_png(value.tensor));
  } else {
    FOREBAY_ASSIGN(Picture picture, LazyImage::of_pixels(value.tensor, /*channels_first=*/false));
    FOREBAY_ASSIGN(value.tensor, scaled_to_limit(std::move(picture), manifest.limit));
    for (size_t i = 0; i < field.shape.rank(); ++i)
      if (field.shape[i] != Shape::kUnknown && field.shape[i] != value.tensor.shape[i])
        return invalid_argument(
            fmt::format("the field '{}' is {}, beyond limit={}; leave the limit out, or .resize() it "
                        "before the cut",
                        field.name, field.to_string(), manifest.limit));
    FOREBAY_ASSIGN(value.bytes, encode_jpeg(value.tensor, manifest.quality));
  }
  // The shape stays for readers; the pixels are in the file.
  value.tensor.buffer = {};
  return {};
}

Status encode_record(const MaterializedManifest& manifest, Record& record) {
  for (size_t i = 0; i < manifest.fields.size(); ++i) {
    const StoredField& stored = manifest.fields[i];
    Value& value = record[i];
    if (stored.encoded && value.kind == FieldKind::kTensor)
      FOREBAY_RETURN_IF_ERROR(encode_pixels(manifest, stored.field, value));
    if (manifest.lossy() && stored.field.image && value.kind == FieldKind::kBytes) {
      FOREBAY_ASSIGN(value.bytes, reencoded_jpeg(manifest, std::move(value.bytes)));
    }
    if (manifest.restart_markers && stored.field.image && value.kind == FieldKind::kBytes)
      value.bytes = with_restart_markers(value.bytes);
  }
  return {};
}

bool any_to_encode(const MaterializedManifest& manifest) {
  return manifest.lossy() || manifest.restart_markers ||
         std::any_of(manifest.fields.begin(), manifest.fields.end(),
                     [](const StoredField& stored) { return stored.encoded; });
}

}  // namespace

void mark_encoded(std::vector<StoredField>& fields, StoredFormat format) {
  if (format != StoredFormat::kWds && format != StoredFormat::kJpeg) return;
  for (StoredField& stored : fields) {
    const Field& field = stored.field;
    const bool pixels = field.kind == FieldKind::kTensor && field.dtype == DType::kUint8 && field.image &&
                        !field.channels_first && field.shape.rank() == 3 &&
                        (field.shape[2] == 1 || field.shape[2] == 3);
    stored.encoded = pixels && !stored.in_index;
  }
}

Status encode_pictures(const MaterializedManifest& manifest, std::span<Record> records, int threads,
                       const std::function<std::string(size_t)>& key) {
  if (!any_to_encode(manifest)) return {};
  std::vector<Status> failed(records.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < records.size(); i = next++) failed[i] = encode_record(manifest, records[i]);
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < std::min<int64_t>(threads, static_cast<int64_t>(records.size())); ++i)
      others.emplace_back(work);
    work();
  }
  // Returns the first error in the order of records, whichever thread met one first.
  for (size_t i = 0; i < failed.size(); ++i)
    if (!failed[i].ok()) return Status(failed[i]).with_key(key(i));
  return {};
}

}  // namespace forebay
