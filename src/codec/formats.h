#pragma once

#include <cstdint>
#include <span>

#include "codec/image.h"

namespace forebay {

using Bytes = std::span<const uint8_t>;

/// The functions of each format, with the same meaning as in image.h. `crop` must lie inside the
/// image. `info` may come from a probe of other bytes, so decoders check it again.
Result<ImageInfo> probe_jpeg(Bytes bytes);
Result<ImageInfo> probe_png(Bytes bytes);
Result<ImageInfo> probe_webp(Bytes bytes);
Result<ImageInfo> probe_bmp(Bytes bytes);

/// Read one format's header from the first bytes of a file, as probe_image_head() does.
std::optional<ImageHead> probe_jpeg_head(Bytes head);
std::optional<ImageHead> probe_png_head(Bytes head);
std::optional<ImageHead> probe_webp_head(Bytes head);
std::optional<ImageHead> probe_bmp_head(Bytes head);

Status decode_jpeg(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink);
Status decode_png(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink);
Status decode_webp(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink);
Status decode_bmp(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink);

uint64_t jpeg_working_bytes(const ImageInfo& info, const Rect& crop, ColorMode mode);
uint64_t png_working_bytes(const ImageInfo& info, const Rect& crop, ColorMode mode);
uint64_t webp_working_bytes(const ImageInfo& info, const Rect& crop, ColorMode mode);
uint64_t bmp_working_bytes(const ImageInfo& info, const Rect& crop, ColorMode mode);

}  // namespace forebay
