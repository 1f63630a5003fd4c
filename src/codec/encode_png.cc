#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <spng.h>

#include "codec/encode_image.h"

namespace forebay {

namespace {

// A third of the time of zlib's level 6, for a few percent more bytes.
constexpr int kPngEffort = 3;

Status png_failed(int error) {
  return internal_error(fmt::format("a PNG could not be written: {}", spng_strerror(error)));
}

Buffer owned_copy(const void* bytes, size_t size) {
  Buffer copy = Buffer::allocate(size);
  std::memcpy(copy.data(), bytes, size);
  return copy;
}

}  // namespace

bool is_encodable_image(const Tensor& pixels) {
  return pixels.dtype == DType::kUint8 && pixels.shape.rank() == 3 && pixels.shape.elements() > 0 &&
         (pixels.shape[2] == 1 || pixels.shape[2] == 3);
}

Result<Buffer> encode_png(const Tensor& pixels) {
  if (!is_encodable_image(pixels))
    return invalid_argument(
        fmt::format("{} {} is no picture that a PNG holds", dtype_name(pixels.dtype), pixels.shape.to_string()));
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> library(spng_ctx_new(SPNG_CTX_ENCODER), spng_ctx_free);
  if (!library) return internal_error("no memory for a PNG");
  spng_ihdr header{};
  header.height = static_cast<uint32_t>(pixels.shape[0]);
  header.width = static_cast<uint32_t>(pixels.shape[1]);
  header.bit_depth = 8;
  header.color_type = pixels.shape[2] == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  int error = spng_set_option(library.get(), SPNG_ENCODE_TO_BUFFER, 1);
  if (error == 0) error = spng_set_option(library.get(), SPNG_IMG_COMPRESSION_LEVEL, kPngEffort);
  if (error == 0) error = spng_set_ihdr(library.get(), &header);
  if (error == 0)
    error = spng_encode_image(library.get(), pixels.buffer.data(), pixels.nbytes(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  if (error != 0) return png_failed(error);
  size_t size = 0;
  const std::unique_ptr<void, void (*)(void*)> file(spng_get_png_buffer(library.get(), &size, &error), std::free);
  if (!file) return png_failed(error);
  return owned_copy(file.get(), size);
}

}  // namespace forebay
