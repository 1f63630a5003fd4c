#include <fmt/format.h>

#include "codec/codec_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

void put_le(Blob& to, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

struct BmpKind {
  int bits = 24;
  uint32_t header_size = 40;
  uint32_t compression = 0;
  bool top_down = false;
  std::vector<uint32_t> masks = {};
};

/// A file whose pixel data is `data`. Palettes are reversed grey ramps: index i is (255 - i, i, 7).
Blob make_bmp(int width, int height, const BmpKind& kind, const Blob& data) {
  Blob header;
  put_le(header, kind.header_size, 4);
  put_le(header, static_cast<uint32_t>(width), 4);
  put_le(header, static_cast<uint32_t>(kind.top_down ? -height : height), 4);
  put_le(header, 1, 2);
  put_le(header, static_cast<uint32_t>(kind.bits), 2);
  put_le(header, kind.compression, 4);
  header.resize(40);
  for (const uint32_t mask : kind.masks) put_le(header, mask, 4);
  if (header.size() < kind.header_size) header.resize(kind.header_size);
  if (kind.bits <= 8) {
    for (uint32_t i = 0; i < 1u << kind.bits; ++i) {
      put_le(header, 7, 1);
      put_le(header, i, 1);
      put_le(header, 255 - i, 1);
      put_le(header, 0, 1);
    }
  }
  Blob out = {'B', 'M'};
  put_le(out, static_cast<uint32_t>(14 + header.size() + data.size()), 4);
  put_le(out, 0, 4);
  put_le(out, static_cast<uint32_t>(14 + header.size()), 4);
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

uint32_t random_pixel(int x, int y, int bits) {
  const uint32_t value = (static_cast<uint32_t>(x) * 2654435761u) ^ (static_cast<uint32_t>(y) * 40503u * 65537u);
  return bits == 32 ? value : value >> 7 & ((1u << bits) - 1);
}

/// Rows of random_pixel() in the layout of a file.
Blob plain_data(int width, int height, const BmpKind& kind) {
  Blob out;
  for (int row = 0; row < height; ++row) {
    const int y = kind.top_down ? row : height - 1 - row;
    const size_t begin = out.size();
    uint32_t pending = 0;
    int filled = 0;
    for (int x = 0; x < width; ++x) {
      const uint32_t pixel = random_pixel(x, y, kind.bits);
      if (kind.bits >= 8) {
        put_le(out, pixel, kind.bits / 8);
        continue;
      }
      pending = pending << kind.bits | pixel;
      filled += kind.bits;
      if (filled == 8) out.push_back(static_cast<uint8_t>(pending)), pending = 0, filled = 0;
    }
    if (filled > 0) out.push_back(static_cast<uint8_t>(pending << (8 - filled)));
    while ((out.size() - begin) % 4 != 0) out.push_back(0xEE);
  }
  return out;
}

using Color = uint8_t (*)(uint32_t pixel, int channel);

uint8_t of_palette(uint32_t pixel, int channel) {
  return static_cast<uint8_t>(channel == 0 ? 255 - pixel : channel == 1 ? pixel : 7);
}
uint8_t of_bytes(uint32_t pixel, int channel) { return static_cast<uint8_t>(pixel >> (16 - 8 * channel)); }
uint8_t of_555(uint32_t pixel, int channel) {
  return static_cast<uint8_t>((pixel >> (10 - 5 * channel) & 31) * 255 / 31);
}
uint8_t of_565(uint32_t pixel, int channel) {
  if (channel == 1) return static_cast<uint8_t>((pixel >> 5 & 63) * 255 / 63);
  return static_cast<uint8_t>((pixel >> (channel == 0 ? 11 : 0) & 31) * 255 / 31);
}
uint8_t of_swapped(uint32_t pixel, int channel) { return static_cast<uint8_t>(pixel >> (8 * channel)); }

TEST(bmp, every_kind_decodes_to_its_pixels) {
  struct KindCase {
    BmpKind kind;
    Color color;
  };
  std::vector<KindCase> cases;
  for (const uint32_t header_size : {40u, 56u, 108u, 124u}) {
    for (const bool top_down : {false, true}) {
      for (const int bits : {1, 4, 8})
        cases.push_back({{.bits = bits, .header_size = header_size, .top_down = top_down}, of_palette});
      cases.push_back({{.bits = 16, .header_size = header_size, .top_down = top_down}, of_555});
      cases.push_back({{.bits = 24, .header_size = header_size, .top_down = top_down}, of_bytes});
      cases.push_back({{.bits = 32, .header_size = header_size, .top_down = top_down}, of_bytes});
    }
  }
  for (const uint32_t header_size : {40u, 52u, 124u}) {
    cases.push_back(
        {{.bits = 16, .header_size = header_size, .compression = 3, .masks = {0xF800, 0x7E0, 0x1F}}, of_565});
    cases.push_back(
        {{.bits = 16, .header_size = header_size, .compression = 3, .masks = {0x7C00, 0x3E0, 0x1F}}, of_555});
    cases.push_back(
        {{.bits = 32, .header_size = header_size, .compression = 3, .masks = {0xFF, 0xFF00, 0xFF0000}}, of_swapped});
    cases.push_back({{.bits = 32, .header_size = header_size, .compression = 3, .masks = {0, 0, 0}}, of_bytes});
  }
  for (const auto& [kind, color] : cases) {
    for (const int width : {1, 7, 33}) {
      const Blob bytes = make_bmp(width, 5, kind, plain_data(width, 5, kind));
      Blob expected;
      for (int y = 0; y < 5; ++y) {
        for (int x = 0; x < width; ++x) {
          for (int c = 0; c < 3; ++c) expected.push_back(color(random_pixel(x, y, kind.bits), c));
        }
      }
      const std::string name = fmt::format("{} bits, header {}, compression {}, width {}", kind.bits, kind.header_size,
                                           kind.compression, width);
      const Decoded decoded = decode_all(bytes);
      ASSERT_TRUE(decoded.status.ok()) << name << ": " << decoded.status.to_string();
      ASSERT_TRUE(decoded.pixels == expected) << name;
      expect_crops_equal_full_decode(bytes, 20, 1, name);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(bmp, truncated_is_corrupt_at_every_length) {
  const BmpKind plain{.bits = 24};
  const Blob bytes = make_bmp(4, 3, plain, plain_data(4, 3, plain));
  for (size_t length = 2; length < bytes.size(); ++length) {
    const Blob part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_EQ(decode_all(part).status.code(), Code::kCorrupt) << length;
  }
  EXPECT_TRUE(decode_all(bytes).status.ok());
}

TEST(bmp, header_that_lies_about_the_size_is_corrupt) {
  const BmpKind kind{.bits = 24};
  EXPECT_EQ(decode_all(make_bmp(4, 300, kind, plain_data(4, 3, kind))).status.code(), Code::kCorrupt);
  EXPECT_EQ(decode_all(make_bmp(0, 3, kind, {})).status.code(), Code::kCorrupt);
  EXPECT_EQ(decode_all(make_bmp(4, 0, kind, {})).status.code(), Code::kCorrupt);
}

TEST(bmp, unknown_kinds_are_unsupported) {
  for (const uint32_t os2 : {12u, 64u})
    EXPECT_EQ(decode_all(make_bmp(4, 3, {.header_size = os2}, Blob(64))).status.code(), Code::kUnsupported);
  EXPECT_EQ(decode_all(make_bmp(4, 3, {.bits = 8, .compression = 1}, Blob(64))).status.code(), Code::kUnsupported);
  EXPECT_EQ(decode_all(make_bmp(4, 3, {.bits = 4, .compression = 2}, Blob(64))).status.code(), Code::kUnsupported);
  EXPECT_EQ(decode_all(make_bmp(4, 3, {.bits = 24, .compression = 4}, Blob(64))).status.code(), Code::kUnsupported);
  EXPECT_EQ(decode_all(make_bmp(4, 3, {.bits = 12}, Blob(64))).status.code(), Code::kUnsupported);
  const BmpKind odd_masks{.bits = 32, .compression = 3, .masks = {0xFF, 0xFF00, 0x50000}};
  EXPECT_EQ(decode_all(make_bmp(4, 3, odd_masks, Blob(64))).status.code(), Code::kUnsupported);
}

}  // namespace
}  // namespace forebay
