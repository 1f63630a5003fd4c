#include "format/materialized/encoded_picture.h"

namespace forebay {

namespace {}  // namespace

Result<std::unique_ptr<Deferred>> EncodedPicture::of(Buffer file, const Shape& shape) {
  FOREBAY_ASSIGN(const ImageInfo info, probe_image(file.span()));
  const bool fits = shape.rank() == 3 && info.height() == shape[0] && info.width() == shape[1] &&
                    info.orientation == 1 && (shape[2] == 1 || shape[2] == 3);
  if (!fits) return corrupt("a picture of another size than was written");
  return std::unique_ptr<Deferred>(new EncodedPicture(std::move(file), info, shape));
}

Status EncodedPicture::write(std::span<uint8_t> out, WorkMemory& memory) {
  const ColorMode mode = shape_[2] == 1 ? ColorMode::kGray : ColorMode::kRgb;
  const Rect all{0, 0, info_.width(), info_.height()};
  const uint64_t working = decode_working_bytes(info_, all, mode);
  FOREBAY_RETURN_IF_ERROR(memory.reserve(working));
  RowsInto rows(out.data(), static_cast<size_t>(shape_[1] * shape_[2]));
  const Status decoded = decode_rows(file_.span(), info_, all, mode, rows);
  memory.release(working);
  return decoded;
}

}  // namespace forebay
