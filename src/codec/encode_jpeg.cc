#include <csetjmp>
#include <cstdio>  // needed by jpeglib.h
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <jpeglib.h>

#include "codec/encode_image.h"

namespace forebay {

namespace {

constexpr int64_t kMaxJpegSide = 65'500;
constexpr int kFullColorFrom = 90;  // as the best settings of FFmpeg and many cameras

/// A compressor whose error function jumps back to run(). No frame in between may have destructors.
class JpegWriter {
 public:
  JpegWriter(const Tensor& pixels, int quality) : pixels_(pixels), quality_(quality) {
    library_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = [](j_common_ptr library) {
      std::longjmp(reinterpret_cast<Errors*>(library->err)->back, 1);
    };
    errors_.base.output_message = [](j_common_ptr) {};
  }
  ~JpegWriter() {
    jpeg_destroy_compress(&library_);
    std::free(memory_);
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;

  bool run() {
    if (setjmp(errors_.back) != 0) {
      // Before this call `memory_` is the library's first buffer, which it has freed if the file
      // outgrew it.
      if (library_.dest != nullptr) library_.dest->term_destination(&library_);
      return false;
    }
    jpeg_create_compress(&library_);
    jpeg_mem_dest(&library_, &memory_, &size_);
    set_up();
    jpeg_start_compress(&library_, TRUE);
    const size_t pitch = static_cast<size_t>(pixels_.shape[1] * pixels_.shape[2]);
    while (library_.next_scanline < library_.image_height) {
      JSAMPROW row = const_cast<JSAMPROW>(pixels_.buffer.data() + library_.next_scanline * pitch);
      jpeg_write_scanlines(&library_, &row, 1);
    }
    jpeg_finish_compress(&library_);
    return true;
  }
  Buffer take() const {
    Buffer file = Buffer::allocate(size_);
    std::memcpy(file.data(), memory_, size_);
    return file;
  }

 private:
  struct Errors {
    jpeg_error_mgr base;
    std::jmp_buf back;
  };

  void set_up() {
    library_.image_height = static_cast<JDIMENSION>(pixels_.shape[0]);
    library_.image_width = static_cast<JDIMENSION>(pixels_.shape[1]);
    library_.input_components = static_cast<int>(pixels_.shape[2]);
    library_.in_color_space = pixels_.shape[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&library_);
    jpeg_set_quality(&library_, quality_, TRUE);
    // This method gives the same results on every processor.
    library_.dct_method = JDCT_ISLOW;
    library_.optimize_coding = TRUE;
    if (quality_ >= kFullColorFrom) library_.comp_info[0].h_samp_factor = library_.comp_info[0].v_samp_factor = 1;
  }

  const Tensor& pixels_;
  const int quality_;
  jpeg_compress_struct library_ = {};
  Errors errors_ = {};
  unsigned char* memory_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

Result<Buffer> encode_jpeg(const Tensor& pixels, int quality) {
  if (quality < 1 || quality > 100) return invalid_argument(fmt::format("quality is {}; it is 1 to 100", quality));
  if (!is_encodable_image(pixels) || pixels.shape[0] > kMaxJpegSide || pixels.shape[1] > kMaxJpegSide)
    return invalid_argument(
        fmt::format("{} {} is no picture that a JPEG holds", dtype_name(pixels.dtype), pixels.shape.to_string()));
  JpegWriter writer(pixels, quality);
  if (!writer.run()) return internal_error("a JPEG could not be written");
  return writer.take();
}

}  // namespace forebay
