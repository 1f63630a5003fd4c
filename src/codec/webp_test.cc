#include <webp/encode.h>

#include <fmt/format.h>

#include "codec/codec_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

Blob encode_webp(int width, int height, bool lossless, bool alpha = false, uint32_t seed = 1) {
  const int channels = alpha ? 4 : 3;
  const Blob pixels = test_pixels(width, height, channels, seed);
  uint8_t* memory = nullptr;
  size_t size = 0;
  if (lossless) {
    size = alpha ? WebPEncodeLosslessRGBA(pixels.data(), width, height, width * 4, &memory)
                 : WebPEncodeLosslessRGB(pixels.data(), width, height, width * 3, &memory);
  } else {
    size = alpha ? WebPEncodeRGBA(pixels.data(), width, height, width * 4, 80, &memory)
                 : WebPEncodeRGB(pixels.data(), width, height, width * 3, 80, &memory);
  }
  Blob bytes(memory, memory + size);
  WebPFree(memory);
  return bytes;
}

void put_little_endian(Blob& to, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void put_riff_chunk(Blob& to, const std::string& type, const Blob& payload) {
  to.insert(to.end(), type.begin(), type.end());
  put_little_endian(to, static_cast<uint32_t>(payload.size()), 4);
  to.insert(to.end(), payload.begin(), payload.end());
  if (payload.size() % 2 == 1) to.push_back(0);
}

Blob riff(const Blob& chunks) {
  Blob out = {'R', 'I', 'F', 'F'};
  put_little_endian(out, static_cast<uint32_t>(chunks.size() + 4), 4);
  out.insert(out.end(), {'W', 'E', 'B', 'P'});
  out.insert(out.end(), chunks.begin(), chunks.end());
  return out;
}

Blob extended_header(int width, int height, uint8_t flags) {
  Blob payload = {flags, 0, 0, 0};
  put_little_endian(payload, static_cast<uint32_t>(width - 1), 3);
  put_little_endian(payload, static_cast<uint32_t>(height - 1), 3);
  return payload;
}

TEST(webp, crop_equals_full_decode) {
  uint32_t seed = 0;
  for (const bool lossless : {false, true}) {
    for (const bool alpha : {false, true}) {
      for (const auto& [width, height] : {std::pair(1, 1), std::pair(3, 2), std::pair(17, 33), std::pair(131, 97)}) {
        const Blob bytes = encode_webp(width, height, lossless, alpha, ++seed);
        expect_crops_equal_full_decode(bytes, 60, seed,
                                       fmt::format("{}x{} lossless {} alpha {}", width, height, lossless, alpha));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(webp, lossless_gives_the_pixels_back) {
  const Decoded decoded = decode_all(encode_webp(61, 43, true));
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.to_string();
  EXPECT_TRUE(decoded.pixels == test_pixels(61, 43, 3, 1));
}

TEST(webp, truncated_is_corrupt_at_every_length) {
  for (const bool lossless : {false, true}) {
    const Blob bytes = encode_webp(33, 21, lossless);
    for (size_t length = 12; length < bytes.size(); ++length) {
      Blob part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_EQ(decode_all(part).status.code(), Code::kCorrupt) << length;
    }
  }
}

TEST(webp, first_frame_of_an_animation_is_seen_on_its_canvas) {
  const Blob still = encode_webp(8, 6, true);
  Blob frame;
  for (const uint32_t value : {1u, 2u, 7u, 5u, 100u})
    put_little_endian(frame, value, 3);  // x / 2, y / 2, width - 1, height - 1, ms
  frame.push_back(0);
  frame.insert(frame.end(), still.begin() + 12, still.end());
  Blob chunks;
  put_riff_chunk(chunks, "VP8X", extended_header(20, 16, 2));
  put_riff_chunk(chunks, "ANIM", Blob(6));
  put_riff_chunk(chunks, "ANMF", frame);
  put_riff_chunk(chunks, "ANMF", frame);
  const Decoded decoded = decode_all(riff(chunks));
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.to_string();
  const Blob inside = test_pixels(8, 6, 3, 1);
  EXPECT_TRUE(cut(decoded.pixels, 20, {2, 4, 8, 6}) == inside);
  EXPECT_TRUE(cut(decoded.pixels, 20, {0, 0, 20, 4}) == Blob(20 * 4 * 3));
  expect_crops_equal_full_decode(riff(chunks), 200, 3, "animation");
}

TEST(webp, orientation_is_found) {
  const Blob still = encode_webp(8, 6, false);
  const Blob tiff = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0};
  for (const bool prefixed : {false, true}) {
    Blob exif = prefixed ? Blob{'E', 'x', 'i', 'f', 0, 0} : Blob{};
    exif.insert(exif.end(), tiff.begin(), tiff.end());
    Blob chunks;
    put_riff_chunk(chunks, "VP8X", extended_header(8, 6, 8));
    chunks.insert(chunks.end(), still.begin() + 12, still.end());
    put_riff_chunk(chunks, "EXIF", exif);
    const auto info = probe_image(riff(chunks));
    ASSERT_TRUE(info.ok()) << info.status().to_string();
    EXPECT_EQ(info->orientation, 8);
  }
}

TEST(webp, header_that_lies_about_the_size_is_corrupt) {
  const Blob still = encode_webp(8, 6, false);
  Blob chunks;
  put_riff_chunk(chunks, "VP8X", extended_header(7, 6, 0));
  chunks.insert(chunks.end(), still.begin() + 12, still.end());
  EXPECT_EQ(decode_all(riff(chunks)).status.code(), Code::kCorrupt);
}

}  // namespace
}  // namespace forebay
