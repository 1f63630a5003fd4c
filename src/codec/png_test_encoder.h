#pragma once

#include <libdeflate.h>

#include <string_view>

#include "codec/codec_test_support.h"
#include "codec/png_chunks.h"

namespace forebay::codec_test {

inline void put_u32(Blob& to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<uint8_t>(value >> shift));
}

inline void put_chunk(Blob& to, std::string_view type, const Blob& payload) {
  put_u32(to, static_cast<uint32_t>(payload.size()));
  Blob body(type.begin(), type.end());
  body.insert(body.end(), payload.begin(), payload.end());
  to.insert(to.end(), body.begin(), body.end());
  put_u32(to, libdeflate_crc32(0, body.data(), body.size()));
}

/// A zlib stream without compression.
inline Blob zlib_stored(const Blob& data) {
  Blob out = {0x78, 0x01};
  uint32_t a = 1, b = 0;
  for (size_t at = 0; at == 0 || at < data.size(); at += 65535) {
    const size_t part = std::min<size_t>(65535, data.size() - at);
    out.push_back(at + part >= data.size());
    for (const size_t size : {part, ~part}) {
      out.push_back(static_cast<uint8_t>(size));
      out.push_back(static_cast<uint8_t>(size >> 8));
    }
    out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(at),
               data.begin() + static_cast<std::ptrdiff_t>(at + part));
  }
  for (const uint8_t byte : data) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  put_u32(out, b << 16 | a);
  return out;
}

/// An image as samples of `bits` bits, row after row, with `components` samples per pixel.
struct PngSamples {
  PngHeader header;
  std::vector<uint16_t> samples;
  uint16_t at(int64_t x, int64_t y, int c) const {
    return samples[static_cast<size_t>((y * header.width + x) * header.components() + c)];
  }
};

inline PngSamples random_samples(PngHeader header, uint32_t seed) {
  PngSamples picture{header, {}};
  std::mt19937 random(seed);
  const int64_t count = header.width * header.height * header.components();
  for (int64_t i = 0; i < count; ++i)
    picture.samples.push_back(static_cast<uint16_t>(random() & ((1u << header.bits) - 1)));
  return picture;
}

/// The unfiltered rows of the sub-image that begins at (x0, y0) with these steps.
inline void put_rows(Blob& to, const PngSamples& picture, int64_t x0, int64_t y0, int64_t step_x, int64_t step_y) {
  const PngHeader& header = picture.header;
  if (x0 >= header.width) return;
  for (int64_t y = y0; y < header.height; y += step_y) {
    to.push_back(0);
    uint32_t pending = 0;
    int bits = 0;
    const auto put_bit = [&](uint32_t bit) {
      pending = pending << 1 | bit;
      if (++bits < 8) return;
      to.push_back(static_cast<uint8_t>(pending));
      pending = 0, bits = 0;
    };
    for (int64_t x = x0; x < header.width; x += step_x) {
      for (int c = 0; c < header.components(); ++c) {
        for (int bit = header.bits - 1; bit >= 0; --bit) put_bit(picture.at(x, y, c) >> bit & 1u);
      }
    }
    while (bits != 0) put_bit(0);
  }
}

inline Blob palette_chunk(int entries) {
  Blob palette;
  for (int i = 0; i < entries * 3; ++i) palette.push_back(static_cast<uint8_t>(i * 37 + 11));
  return palette;
}

/// `before_data` and `after_data` are whole chunks.
inline Blob encode_png(const PngSamples& picture, int palette_entries = 256, const Blob& before_data = {},
                       const Blob& after_data = {}) {
  const PngHeader& header = picture.header;
  Blob out = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  Blob ihdr;
  put_u32(ihdr, static_cast<uint32_t>(header.width));
  put_u32(ihdr, static_cast<uint32_t>(header.height));
  ihdr.insert(ihdr.end(), {static_cast<uint8_t>(header.bits), static_cast<uint8_t>(header.color), 0, 0,
                           static_cast<uint8_t>(header.interlaced)});
  put_chunk(out, "IHDR", ihdr);
  if (header.color == PngColor::kPalette) {
    put_chunk(out, "PLTE", palette_chunk(std::min(palette_entries, 1 << header.bits)));
  }
  out.insert(out.end(), before_data.begin(), before_data.end());
  Blob rows;
  if (header.interlaced) {
    const int64_t passes[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                  {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    for (const auto& [x, y, step_x, step_y] : passes) put_rows(rows, picture, x, y, step_x, step_y);
  } else {
    put_rows(rows, picture, 0, 0, 1, 1);
  }
  const Blob data = zlib_stored(rows);
  const auto middle = data.begin() + static_cast<std::ptrdiff_t>(data.size() / 2);
  put_chunk(out, "IDAT", Blob(data.begin(), middle));
  put_chunk(out, "IDAT", Blob(middle, data.end()));
  out.insert(out.end(), after_data.begin(), after_data.end());
  put_chunk(out, "IEND", {});
  return out;
}

}  // namespace forebay::codec_test
