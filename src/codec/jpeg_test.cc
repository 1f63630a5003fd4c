#include <algorithm>

#include <fmt/format.h>

#include "codec/jpeg_test_encoder.h"

namespace forebay {
namespace {

using namespace codec_test;

std::string describe(const JpegKind& kind, int width, int height) {
  return fmt::format("{}x{} {}x{} {} channels, stored {}, progressive {}, restart {}, arithmetic {}, scans apart {}",
                     width, height, kind.h, kind.v, kind.channels, static_cast<int>(kind.stored), kind.progressive,
                     kind.restart_rows, kind.arithmetic, kind.scan_per_component);
}

TEST(jpeg, crop_equals_full_decode_for_every_sampling) {
  const int sizes[][2] = {{1, 1}, {3, 5}, {17, 16}, {64, 33}, {65, 70}, {131, 97}, {200, 150}, {256, 129}};
  const int samplings[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}, {1, 4}, {2, 4}, {3, 1}, {1, 3}};
  uint32_t seed = 0;
  for (const auto& [width, height] : sizes) {
    for (const auto& [h, v] : samplings) {
      for (const bool progressive : {false, true}) {
        for (const int restart_rows : {0, 1}) {
          const JpegKind kind{.h = h, .v = v, .progressive = progressive, .restart_rows = restart_rows};
          const Blob bytes = encode_jpeg(width, height, kind, ++seed);
          expect_crops_equal_full_decode(bytes, 40, seed, describe(kind, width, height));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(jpeg, crop_equals_full_decode_for_odd_kinds) {
  const std::vector<JpegKind> kinds = {
      {.h = 1, .v = 1, .channels = 1},
      {.h = 2, .v = 2, .channels = 1},
      {.h = 1, .v = 1, .progressive = true, .channels = 1},
      {.h = 1, .v = 1, .channels = 3, .stored = JCS_RGB},
      {.h = 1, .v = 1, .channels = 4, .stored = JCS_CMYK},
      {.h = 2, .v = 2, .channels = 4, .stored = JCS_CMYK},
      {.h = 2, .v = 2, .channels = 4, .stored = JCS_YCCK},
      {.h = 2, .v = 1, .progressive = true, .channels = 4, .stored = JCS_YCCK},
      {.h = 2, .v = 2, .arithmetic = true},
      {.h = 2, .v = 2, .progressive = true, .arithmetic = true},
      {.h = 2, .v = 2, .scan_per_component = true},
  };
  uint32_t seed = 100;
  for (const JpegKind& kind : kinds) {
    for (const auto& [width, height] : {std::pair(61, 47), std::pair(203, 151)}) {
      const Blob bytes = encode_jpeg(width, height, kind, ++seed);
      expect_crops_equal_full_decode(bytes, 60, seed, describe(kind, width, height));
      if (HasFatalFailure()) return;
    }
  }
}

/// A progressive file that ends, with a proper marker, after `scans` scans.
Blob unfinished(const Blob& bytes, int scans) {
  Blob out(bytes.begin(), bytes.begin() + 2);
  for (size_t at = 2; at + 4 < bytes.size();) {
    if (bytes[at] == 0xFF && bytes[at + 1] == 0xDA && scans-- == 0) break;
    if (bytes[at] == 0xFF && bytes[at + 1] != 0 && (bytes[at + 1] < 0xD0 || bytes[at + 1] > 0xD7)) {
      const size_t length = bytes[at + 2] << 8 | bytes[at + 3];
      out.insert(out.end(), bytes.begin() + at, bytes.begin() + at + 2 + length);
      at += 2 + length;
    } else {
      out.push_back(bytes[at++]);
    }
  }
  out.insert(out.end(), {0xFF, 0xD9});
  return out;
}

TEST(jpeg, crop_equals_full_decode_of_unfinished_progressions) {
  for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 2), std::pair(2, 1)}) {
    const Blob bytes = encode_jpeg(203, 151, {.h = h, .v = v, .progressive = true}, 7);
    for (int scans = 1; scans < 9; ++scans) {
      expect_crops_equal_full_decode(unfinished(bytes, scans), 40, 7, fmt::format("{}x{} {} scans", h, v, scans));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(jpeg, truncated_is_corrupt_at_every_length_and_for_every_crop) {
  for (const bool progressive : {false, true}) {
    const Blob bytes = encode_jpeg(97, 75, {.progressive = progressive, .restart_rows = progressive ? 0 : 1});
    const auto info = probe_image(bytes);
    ASSERT_TRUE(info.ok());
    for (size_t length = 3; length < bytes.size(); ++length) {
      const Blob part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      for (const Rect& crop : {whole(*info), Rect{0, 0, 5, 5}, Rect{90, 70, 7, 5}}) {
        ASSERT_EQ(decode(part, *info, crop).status.code(), Code::kCorrupt) << length;
      }
      ASSERT_EQ(decode_all(part).status.code(), Code::kCorrupt) << length;
    }
  }
}

Blob with_size(Blob bytes, int width, int height) {
  for (size_t at = 2; at + 9 < bytes.size(); at += 2 + (bytes[at + 2] << 8 | bytes[at + 3])) {
    if (bytes[at + 1] < 0xC0 || bytes[at + 1] > 0xC2) continue;
    bytes[at + 5] = static_cast<uint8_t>(height >> 8), bytes[at + 6] = static_cast<uint8_t>(height);
    bytes[at + 7] = static_cast<uint8_t>(width >> 8), bytes[at + 8] = static_cast<uint8_t>(width);
    return bytes;
  }
  ADD_FAILURE() << "no frame header";
  return bytes;
}

TEST(jpeg, header_that_promises_more_than_the_data_is_corrupt) {
  const Blob bytes = encode_jpeg(64, 64, {});
  EXPECT_EQ(decode_all(with_size(bytes, 64, 6400)).status.code(), Code::kCorrupt);
  EXPECT_EQ(decode_all(with_size(bytes, 640, 64)).status.code(), Code::kCorrupt);
  EXPECT_EQ(decode_all(with_size(bytes, 0, 64)).status.code(), Code::kCorrupt);
  EXPECT_EQ(decode_all(with_size(bytes, 64, 0)).status.code(), Code::kCorrupt);
}

TEST(jpeg, info_of_another_file_is_refused) {
  const Blob small = encode_jpeg(64, 64, {}), large = encode_jpeg(128, 64, {});
  const auto info = probe_image(large);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(decode(small, *info, {64, 0, 64, 64}).status.code(), Code::kCorrupt);
}

TEST(jpeg, progressive_bomb_is_refused) {
  const Blob bytes = encode_jpeg(64, 64, {.progressive = true});
  const uint8_t start_of_scan[] = {0xFF, 0xDA};
  const auto scan =
      std::search(bytes.begin(), bytes.end(), std::begin(start_of_scan), std::end(start_of_scan)) - bytes.begin();
  Blob many(bytes.begin(), bytes.end() - 2);
  const Blob first_scan = unfinished(bytes, 1);
  for (int i = 0; i < 200; ++i) {
    many.insert(many.end(), first_scan.begin() + scan, first_scan.end() - 2);
  }
  many.insert(many.end(), {0xFF, 0xD9});
  const Decoded decoded = decode_all(many);
  EXPECT_EQ(decoded.status.code(), Code::kUnsupported);
  EXPECT_NE(decoded.status.message().find("scans"), std::string::npos) << decoded.status.message();

  // A few scans suffice if the image is large and the file small.
  const auto info = probe_image(with_size(bytes, 7000, 7000));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(decode(with_size(bytes, 7000, 7000), *info, {0, 0, 8, 8}).status.code(), Code::kUnsupported);
}

void put_marker(Blob& to, uint8_t code, const Blob& payload) {
  const size_t length = payload.size() + 2;
  to.insert(to.end(), {0xFF, code, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)});
  to.insert(to.end(), payload.begin(), payload.end());
}

/// Writes entropy-coded data, highest bit first, with stuffed 0xFF.
class JpegBits {
 public:
  void put(uint32_t bits, int count) {
    for (int i = count - 1; i >= 0; --i) {
      byte_ = static_cast<uint8_t>(byte_ << 1 | (bits >> i & 1));
      if (++filled_ == 8) flush();
    }
  }
  Blob finish() {
    while (filled_ != 0) put(1, 1);
    return bytes_;
  }

 private:
  void flush() {
    bytes_.push_back(byte_);
    if (byte_ == 0xFF) bytes_.push_back(0);
    filled_ = 0;
  }
  Blob bytes_;
  uint8_t byte_ = 0;
  int filled_ = 0;
};

/// Process 14 with the first predictor (the sample on the left). Each difference is coded as its
/// number of bits, in 4 bits, and those bits.
Blob encode_lossless_jpeg(const Blob& pixels, int width, int height, int channels) {
  Blob file = {0xFF, 0xD8};
  Blob frame = {8, 0, static_cast<uint8_t>(height), 0, static_cast<uint8_t>(width), static_cast<uint8_t>(channels)};
  Blob scan = {static_cast<uint8_t>(channels)};
  for (int c = 0; c < channels; ++c) {
    const auto id = static_cast<uint8_t>(channels == 3 ? "RGB"[c] : 1);
    frame.insert(frame.end(), {id, 0x11, 0});
    scan.insert(scan.end(), {id, 0});
  }
  scan.insert(scan.end(), {1, 0, 0});  // predictor, unused, point transform
  Blob table = {0, 0, 0, 0, 9};        // nine codes of four bits
  table.resize(1 + 16);
  for (uint8_t size = 0; size < 9; ++size) table.push_back(size);
  put_marker(file, 0xC3, frame);
  put_marker(file, 0xC4, table);
  put_marker(file, 0xDA, scan);
  JpegBits bits;
  const auto at = [&](int x, int y, int c) { return int{pixels[static_cast<size_t>((y * width + x) * channels + c)]}; };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int before = x > 0 ? at(x - 1, y, c) : y > 0 ? at(x, y - 1, c) : 128;
        const int difference = at(x, y, c) - before;
        int size = 0;
        while (std::abs(difference) >> size != 0) ++size;
        bits.put(static_cast<uint32_t>(size), 4);
        bits.put(static_cast<uint32_t>(difference < 0 ? difference + (1 << size) - 1 : difference), size);
      }
    }
  }
  const Blob data = bits.finish();
  file.insert(file.end(), data.begin(), data.end());
  file.insert(file.end(), {0xFF, 0xD9});
  return file;
}

// Debian 12 has libjpeg-turbo 2.1, which cannot decode them.
TEST(jpeg, lossless_pictures_are_decoded_or_the_library_that_could_is_named) {
  constexpr int kWidth = 90, kHeight = 31;
  for (const int channels : {1, 3}) {
    const Blob pixels = test_pixels(kWidth, kHeight, channels, 5);
    const Blob bytes = encode_lossless_jpeg(pixels, kWidth, kHeight, channels);
    const auto info = probe_image(bytes);
    ASSERT_TRUE(info.ok()) << info.status().to_string();
    EXPECT_TRUE(info->lossless);
    const ColorMode mode = channels == 1 ? ColorMode::kGray : ColorMode::kRgb;
    const Decoded whole = decode(bytes, *info, {0, 0, kWidth, kHeight}, mode);
    if (!whole.status.ok()) {
      EXPECT_EQ(whole.status.code(), Code::kUnsupported);
      EXPECT_NE(whole.status.message().find("libjpeg-turbo 3.0 or newer"), std::string::npos)
          << whole.status.to_string();
      continue;
    }
    EXPECT_EQ(whole.pixels, pixels);
    const Decoded part = decode(bytes, *info, {70, 9, 11, 3}, mode);
    ASSERT_TRUE(part.status.ok()) << part.status.to_string();
    for (int y = 0; y < 3; ++y) {
      const auto from = pixels.begin() + ((9 + y) * kWidth + 70) * channels;
      EXPECT_TRUE(std::equal(from, from + 11 * channels, part.pixels.begin() + y * 11 * channels));
    }
    EXPECT_FALSE(decode_all(Blob(bytes.begin(), bytes.end() - 40)).status.ok());
  }
}

TEST(jpeg, other_processes_are_named) {
  Blob bytes = encode_lossless_jpeg(test_pixels(8, 8, 1, 1), 8, 8, 1);
  for (const auto& [marker, word] :
       {std::pair{0xC5, "SOF5 (hierarchical"}, std::pair{0xCB, "SOF11 (lossless with arith"}}) {
    bytes[3] = static_cast<uint8_t>(marker);
    const Status status = probe_image(bytes).status();
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
  }
}

TEST(jpeg, stray_bytes_before_a_marker_are_passed_over) {
  const Blob bytes = encode_jpeg(64, 48, {});
  Blob stray = bytes;
  const uint8_t noise[] = {1, 2, 3};
  stray.insert(stray.begin() + 20, std::begin(noise), std::end(noise));  // after APP0
  EXPECT_EQ(decode_all(stray).status.to_string(), decode_all(bytes).status.to_string());
  EXPECT_TRUE(decode_all(stray).pixels == decode_all(bytes).pixels);
}

TEST(jpeg, tables_of_one_picture_never_help_another) {
  const Blob bytes = encode_jpeg(64, 48, {});
  Blob without(bytes.begin(), bytes.begin() + 2);
  for (size_t at = 2; at + 4 < bytes.size();) {
    const size_t length = 2 + (bytes[at + 2] << 8 | bytes[at + 3]);
    const bool scan = bytes[at + 1] == 0xDA;
    if (bytes[at + 1] != 0xDB) {
      without.insert(without.end(), bytes.begin() + at, scan ? bytes.end() : bytes.begin() + at + length);
    }
    if (scan) break;
    at += length;
  }
  EXPECT_EQ(decode_all(without).status.code(), Code::kCorrupt);
  EXPECT_TRUE(decode_all(bytes).status.ok());
  EXPECT_EQ(decode_all(without).status.code(), Code::kCorrupt);
}

TEST(jpeg, crop_equals_full_decode_of_real_files) {
  FOREBAY_NEED_SHARED_DATA();
  std::vector<std::filesystem::path> files =
      files_below({"images/odd", "images/odd-go", "images/exif-orientation", "images/d75", "images/multichannel"});
  const auto flowers = files_below({"images/flowers"});
  for (size_t i = 0; i < flowers.size(); i += 29) files.push_back(flowers[i]);
  uint32_t seed = 0;
  int compared = 0;
  for (const auto& path : files) {
    const Blob bytes = read_file(path);
    const auto info = probe_image(bytes);
    if (!info.ok() || info->format != ImageFormat::kJpeg || !decode_all(bytes).status.ok()) continue;
    expect_crops_equal_full_decode(bytes, 12, ++seed, path.string());
    ++compared;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(compared, 60);
}

}  // namespace
}  // namespace forebay
