#include <algorithm>

#include <fmt/format.h>

#include "codec/jpeg_header.h"
#include "codec/jpeg_library.h"
#include "codec/pixels.h"

namespace forebay {
namespace {

constexpr int kMaxScans = 100;

/// State of one decode. It must not have members with destructors, because errors jump over it.
struct Task {
  const ImageInfo* info;
  Rect crop;
  ColorMode mode;
  RowSink* sink;
  uint8_t* decoded;    ///< one row of the library's output
  uint8_t* converted;  ///< one row of the crop in the requested colours
  bool same_header;
};

/// Converts one decoded row, in the library's output colours, and passes it on.
void emit_row(const Task& task, const uint8_t* row) {
  uint8_t* const converted = task.converted;
  const bool rgb = task.mode == ColorMode::kRgb;
  switch (task.info->components) {
    case 1:
      if (!rgb) return task.sink->row(row);
      gray_to_rgb(row, task.crop.width, converted);
      break;
    case 3:
      if (rgb) return task.sink->row(row);
      rgb_to_gray(row, task.crop.width, converted);
      break;
    default:
      inverted_cmyk_to_rgb(row, task.crop.width, converted);
      if (!rgb) rgb_to_gray(converted, task.crop.width, converted);
  }
  task.sink->row(converted);
}

void set_colors(jpeg_decompress_struct* library) {
  switch (library->num_components) {
    case 1: library->out_color_space = JCS_GRAYSCALE; break;
    case 3: library->out_color_space = JCS_RGB; break;
    default: library->out_color_space = JCS_CMYK;
  }
}

/// True if the library computes each column only from its neighbours, so that distant columns can
/// be skipped.
bool columns_are_local(const jpeg_decompress_struct* library) {
  // An unfinished progressive image is smoothed across blocks.
  if (library->coef_bits != nullptr) {
    for (int c = 0; c < library->num_components; ++c) {
      for (int i = 0; i < DCTSIZE2; ++i) {
        if (library->coef_bits[c][i] != 0) return false;
      }
    }
  }
  // Chroma sampled more finely than luma and the like is rare, and the library's crop does not
  // support it.
  for (int c = 0; c < library->num_components; ++c) {
    const jpeg_component_info& component = library->comp_info[c];
    const bool full = component.h_samp_factor == library->max_h_samp_factor;
    if (c == 0 ? !full : !full && component.h_samp_factor != 1) return false;
  }
  return true;
}

/// Skips the rows above the crop. The library can skip neither rows nor columns of lossless images.
void skip_rows(jpeg_decompress_struct* library, Task& task) {
  if (task.info->lossless) {
    for (int64_t y = 0; y < task.crop.y; ++y) jpeg_read_scanlines(library, &task.decoded, 1);
  } else if (task.crop.y > 0) {
    jpeg_skip_scanlines(library, static_cast<JDIMENSION>(task.crop.y));
  }
}

/// Skips the columns that the crop does not need. Returns where the crop begins in the decoded
/// rows.
int64_t crop_columns(jpeg_decompress_struct* library, const Rect& crop) {
  // Smooth upsampling treats the outermost decoded column as the edge of the image, so one more is
  // decoded. Very narrow parts would disable it, so they are widened.
  constexpr int64_t kMargin = 1, kMinWidth = 64;
  const int64_t width = library->output_width;
  int64_t begin = std::max<int64_t>(crop.x - kMargin, 0);
  int64_t end = std::min<int64_t>(crop.x + crop.width + kMargin, width);
  if (end - begin < kMinWidth) begin = std::max<int64_t>(end - kMinWidth, 0);
  if (end - begin < kMinWidth) end = std::min<int64_t>(begin + kMinWidth, width);
  if ((begin == 0 && end == width) || !columns_are_local(library)) return crop.x;
  auto offset = static_cast<JDIMENSION>(begin), count = static_cast<JDIMENSION>(end - begin);
  jpeg_crop_scanline(library, &offset, &count);
  return crop.x - offset;
}

void decode_steps(jpeg_decompress_struct* library, void* context) {
  Task& task = *static_cast<Task*>(context);
  jpeg_read_header(library, TRUE);
  task.same_header = library->image_width == task.info->stored_width &&
                     library->image_height == task.info->stored_height &&
                     library->num_components == task.info->components &&
                     // Memory was reserved for one scan. Several scans need memory for all
                     // coefficients.
                     (task.info->frame_bytes != 0 || !jpeg_has_multiple_scans(library));
  if (!task.same_header) return;
  set_colors(library);
  jpeg_start_decompress(library);
  const int64_t first = task.info->lossless ? task.crop.x : crop_columns(library, task.crop);
  const int64_t pixel_bytes = library->output_components;
  skip_rows(library, task);
  for (int64_t y = 0; y < task.crop.height; ++y) {
    jpeg_read_scanlines(library, &task.decoded, 1);
    emit_row(task, task.decoded + first * pixel_bytes);
  }
}

/// Every scan covers the whole image, so many scans in a small file would take hours.
Status check_scan_work(const ImageInfo& info, const JpegScans& scans, size_t file_bytes) {
  constexpr uint64_t kFreeBlocks = 4'000'000, kBlocksPerByte = 500;
  // A block is 64 coefficients of two bytes.
  const uint64_t blocks = info.frame_bytes / (64 * 2) * static_cast<uint64_t>(scans.count);
  if (scans.count <= kMaxScans && blocks <= kFreeBlocks + kBlocksPerByte * file_bytes) return {};
  return unsupported(fmt::format("JPEG of {} scans over {} × {} pixels in {} bytes: more work than a picture needs",
                                 scans.count, info.stored_width, info.stored_height, file_bytes));
}

}  // namespace

Status decode_jpeg(Bytes bytes, const ImageInfo& info, const Rect& crop, ColorMode mode, RowSink& sink) {
  if (mode == ColorMode::kPalette) return no_palette("a JPEG");
  const bool several = info.frame_bytes != 0;
  FOREBAY_ASSIGN(const JpegScans scans, find_scans(bytes, several));
  if (several) FOREBAY_RETURN_IF_ERROR(check_scan_work(info, scans, bytes.size()));
  // Owned by the thread and not by this frame, because an error jumps over frames without freeing
  // anything.
  thread_local RowBuffer decoded, converted;
  Task task{&info, crop, mode, &sink, decoded.get(info.stored_width * info.components), converted.get(crop.width * 3),
            true};
  FOREBAY_RETURN_IF_ERROR(JpegLibrary().run(bytes, decode_steps, &task));
  if (!task.same_header) return corrupt("JPEG whose header is not the one that was read before");
  return {};
}

uint64_t jpeg_working_bytes(const ImageInfo& info, const Rect& crop, ColorMode) {
  // Per component: two row groups and their neighbours before upsampling (at most 40 rows), and 4
  // rows after it.
  constexpr uint64_t kRows = 44, kFixedBytes = 128 * 1024;
  const uint64_t padded_width = static_cast<uint64_t>(info.stored_width) + 128;
  const uint64_t components = static_cast<uint64_t>(info.components);
  const uint64_t rows = kRows * padded_width * components;
  // Two rows of this decoder. While a row buffer grows, the old one exists as well.
  const uint64_t ours = 2 * (padded_width * components + static_cast<uint64_t>(crop.width) * 3);
  return kFixedBytes + rows + ours + info.frame_bytes + info.frame_bytes / 16;
}

}  // namespace forebay
