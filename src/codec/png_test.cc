#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "codec/png_test_encoder.h"

namespace forebay {
namespace {

using namespace codec_test;

struct Kind {
  PngColor color;
  int bits;
};
constexpr Kind kKinds[] = {
    {PngColor::kGray, 1},       {PngColor::kGray, 2},     {PngColor::kGray, 4},      {PngColor::kGray, 8},
    {PngColor::kGray, 16},      {PngColor::kRgb, 8},      {PngColor::kRgb, 16},      {PngColor::kPalette, 1},
    {PngColor::kPalette, 2},    {PngColor::kPalette, 4},  {PngColor::kPalette, 8},   {PngColor::kGrayAlpha, 8},
    {PngColor::kGrayAlpha, 16}, {PngColor::kRgbAlpha, 8}, {PngColor::kRgbAlpha, 16},
};

/// The pixels that the PNG specification prescribes for the samples.
Blob expected_rgb(const PngSamples& picture) {
  const PngHeader& header = picture.header;
  const Blob palette = palette_chunk(256);
  Blob out;
  for (int64_t y = 0; y < header.height; ++y) {
    for (int64_t x = 0; x < header.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int sample = picture.at(x, y, header.components() >= 3 ? c : 0);
        if (header.color == PngColor::kPalette) {
          out.push_back(palette[static_cast<size_t>(3 * sample + c)]);
        } else {
          out.push_back(
              static_cast<uint8_t>(header.bits == 16 ? sample >> 8 : sample * 255 / ((1 << header.bits) - 1)));
        }
      }
    }
  }
  return out;
}

TEST(png, every_kind_decodes_to_its_pixels) {
  uint32_t seed = 0;
  for (const Kind& kind : kKinds) {
    for (const bool interlaced : {false, true}) {
      for (const auto& [width, height] : {std::pair(1, 1), std::pair(3, 2), std::pair(5, 9), std::pair(37, 23)}) {
        const PngSamples picture = random_samples({width, height, kind.bits, kind.color, interlaced}, ++seed);
        const Decoded decoded = decode_all(encode_png(picture));
        ASSERT_TRUE(decoded.status.ok()) << decoded.status.to_string();
        ASSERT_TRUE(decoded.pixels == expected_rgb(picture)) << fmt::format(
            "color {} bits {} interlaced {} {}x{}", static_cast<int>(kind.color), kind.bits, interlaced, width, height);
      }
    }
  }
}

TEST(png, sixteen_bits_are_kept_and_eight_are_spread_over_them) {
  uint32_t seed = 20;
  for (const Kind& kind : kKinds) {
    for (const bool interlaced : {false, true}) {
      const PngSamples picture = random_samples({37, 23, kind.bits, kind.color, interlaced}, ++seed);
      const Blob eight = expected_rgb(picture);
      std::vector<uint16_t> expected;
      for (size_t i = 0; i < eight.size(); ++i) {
        const auto pixel = static_cast<int64_t>(i / 3);
        const int c = picture.header.components() >= 3 ? static_cast<int>(i % 3) : 0;
        expected.push_back(kind.bits == 16 ? picture.at(pixel % 37, pixel / 37, c)
                                           : static_cast<uint16_t>(eight[i] * 257));
      }
      const Decoded decoded = decode_all(encode_png(picture), ColorMode::kRgb16);
      ASSERT_TRUE(decoded.status.ok()) << decoded.status.to_string();
      ASSERT_EQ(decoded.pixels.size(), expected.size() * 2);
      EXPECT_EQ(std::memcmp(decoded.pixels.data(), expected.data(), decoded.pixels.size()), 0)
          << fmt::format("color {} bits {} interlaced {}", static_cast<int>(kind.color), kind.bits, interlaced);
    }
  }
}

TEST(png, crop_equals_full_decode) {
  uint32_t seed = 50;
  for (const Kind& kind : kKinds) {
    for (const bool interlaced : {false, true}) {
      const Blob bytes = encode_png(random_samples({37, 29, kind.bits, kind.color, interlaced}, ++seed));
      expect_crops_equal_full_decode(bytes, 60, seed,
                                     fmt::format("color {} bits {}", static_cast<int>(kind.color), kind.bits));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(png, palette_entries_that_are_absent_are_black) {
  const PngSamples picture{{3, 1, 8, PngColor::kPalette, false}, {0, 1, 200}};
  const Decoded decoded = decode_all(encode_png(picture, 2));
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.to_string();
  const Blob palette = palette_chunk(2);
  Blob expected(palette.begin(), palette.end());
  expected.insert(expected.end(), {0, 0, 0});
  EXPECT_EQ(decoded.pixels, expected);
}

TEST(png, truncated_is_corrupt_at_every_length) {
  for (const bool interlaced : {false, true}) {
    const Blob bytes = encode_png(random_samples({9, 7, 8, PngColor::kRgb, interlaced}, 1));
    for (size_t length = 8; length < bytes.size(); ++length) {
      const Blob part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_EQ(decode_all(part).status.code(), Code::kCorrupt) << length;
    }
  }
}

TEST(png, changed_bytes_are_corrupt) {
  const Blob bytes = encode_png(random_samples({9, 7, 8, PngColor::kRgb, false}, 1));
  for (size_t at = 8; at < bytes.size(); ++at) {
    Blob changed = bytes;
    changed[at] ^= 4;
    ASSERT_FALSE(decode_all(changed).status.ok()) << at;
  }
}

TEST(png, header_that_promises_more_than_the_data_is_corrupt) {
  PngSamples picture = random_samples({64, 64, 8, PngColor::kRgb, false}, 1);
  Blob bytes = encode_png(picture);
  for (const uint32_t height : {65u, 640u, 0x7FFFFFFFu}) {
    Blob ihdr(bytes.begin() + 16, bytes.begin() + 29), lying(bytes.begin(), bytes.begin() + 8), size;
    put_u32(size, height);
    std::copy(size.begin(), size.end(), ihdr.begin() + 4);
    put_chunk(lying, "IHDR", ihdr);
    lying.insert(lying.end(), bytes.begin() + 33, bytes.end());
    EXPECT_EQ(decode_all(lying).status.code(), Code::kCorrupt) << height;
  }
}

TEST(png, orientation_is_found_before_and_after_the_data) {
  const PngSamples picture = random_samples({4, 2, 8, PngColor::kRgb, false}, 1);
  const Blob tiff = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0};
  Blob chunk;
  put_chunk(chunk, "eXIf", tiff);
  for (const Blob& bytes : {encode_png(picture, 256, chunk), encode_png(picture, 256, {}, chunk)}) {
    const auto info = probe_image(bytes);
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->orientation, 6);
    EXPECT_EQ(info->width(), 2);
    EXPECT_TRUE(decode_all(bytes).status.ok());
  }
}

std::string raw_profile(const Blob& tiff, std::string_view prefix = "") {
  std::string text = fmt::format("\nexif\n{:8}\n", tiff.size());
  Blob all(prefix.begin(), prefix.end());
  all.insert(all.end(), tiff.begin(), tiff.end());
  for (size_t i = 0; i < all.size(); ++i) text += fmt::format("{:02x}{}", all[i], i % 36 == 35 ? "\n" : "");
  return text + "\n";
}

Blob text_chunk(std::string_view type, const std::string& text, std::string_view keyword = "Raw profile type exif") {
  Blob payload(keyword.begin(), keyword.end()), body(text.begin(), text.end()), chunk;
  payload.push_back(0);
  if (type == "zTXt") payload.push_back(0);
  if (type == "zTXt") body = zlib_stored(body);
  // The text is not compressed; then come the method, no language, no translated keyword.
  if (type == "iTXt") payload.insert(payload.end(), 4, 0);
  payload.insert(payload.end(), body.begin(), body.end());
  put_chunk(chunk, type, payload);
  return chunk;
}

TEST(png, orientation_is_found_in_text_as_imagemagick_writes_it) {
  using namespace std::string_view_literals;
  const PngSamples picture = random_samples({4, 2, 8, PngColor::kRgb, false}, 1);
  const auto oriented = [](uint8_t orientation) {
    return Blob{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0};
  };
  const auto found = [&](const Blob& before, const Blob& after = {}) {
    const Blob bytes = encode_png(picture, 256, before, after);
    EXPECT_TRUE(decode_all(bytes).status.ok());
    return probe_image(bytes)->orientation;
  };
  const std::string text = raw_profile(oriented(6));
  for (const char* type : {"tEXt", "zTXt", "iTXt"}) {
    EXPECT_EQ(found(text_chunk(type, text)), 6) << type;
    EXPECT_EQ(found({}, text_chunk(type, text)), 6) << type;
  }
  EXPECT_EQ(found(text_chunk("zTXt", raw_profile(oriented(8), "Exif\0\0"sv))), 8);
  EXPECT_EQ(found(text_chunk("zTXt", raw_profile(oriented(8), "Exif\0\0Exif\0\0"sv))), 8);
  EXPECT_EQ(found(text_chunk("tEXt", text), text_chunk("tEXt", raw_profile(oriented(3)))), 3) << "the last one";
  Blob exif;
  put_chunk(exif, "eXIf", oriented(5));
  EXPECT_EQ(found(exif, text_chunk("tEXt", text)), 5) << "a chunk of its own goes before";
  EXPECT_EQ(found(text_chunk("tEXt", text, "Raw profile type iptc")), 1);
  EXPECT_EQ(found(text_chunk("tEXt", "Comment")), 1);
  EXPECT_EQ(found(text_chunk("tEXt", text.substr(0, text.size() - 2))), 1) << "half a byte";
  EXPECT_EQ(found(text_chunk("tEXt", "\nexif\n 26\nnonsense\n")), 1);
  EXPECT_EQ(found(text_chunk("zTXt", text + std::string(3 << 20, ' '))), 1) << "no text is unpacked beyond its limit";
  Blob damaged = text_chunk("zTXt", text);
  damaged[8 + 30] ^= 0xff;
  const Blob bytes = encode_png(picture, 256, damaged);
  EXPECT_EQ(probe_image(bytes)->orientation, 1);
}

TEST(png, data_in_many_chunks_is_one_picture) {
  const PngSamples picture = random_samples({4, 2, 8, PngColor::kRgb, false}, 1);
  Blob empty, header;
  for (int i = 0; i < 3; ++i) put_chunk(empty, "IDAT", {});
  const Decoded decoded = decode_all(encode_png(picture, 256, empty, empty));
  ASSERT_TRUE(decoded.status.ok()) << decoded.status.to_string();
  EXPECT_EQ(decoded.pixels, expected_rgb(picture));
  const Blob plain = encode_png(picture);
  put_chunk(header, "IHDR", Blob(plain.begin() + 16, plain.begin() + 29));
  EXPECT_EQ(decode_all(encode_png(picture, 256, header)).status.code(), Code::kCorrupt);
}

TEST(png, unknown_chunks_are_passed_over_unless_critical) {
  const PngSamples picture = random_samples({4, 2, 8, PngColor::kRgb, false}, 1);
  Blob ancillary, critical;
  put_chunk(ancillary, "abCd", {1, 2, 3});
  put_chunk(critical, "ABCD", {1, 2, 3});
  EXPECT_TRUE(decode_all(encode_png(picture, 256, ancillary)).status.ok());
  EXPECT_EQ(decode_all(encode_png(picture, 256, critical)).status.code(), Code::kUnsupported);
}

}  // namespace
}  // namespace forebay
