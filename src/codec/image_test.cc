#include "codec/image.h"

#include "codec/jpeg_test_encoder.h"

namespace forebay {
namespace {

using namespace codec_test;

TEST(image, other_formats_are_named) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, std::string_view> heads[] = {
      {"GIF89a\1\0\1\0\0\0\0", "GIF"},
      {"II*\0\10\0\0\0"sv, "TIFF"},
      {"MM\0*\0\0\0\10"sv, "TIFF"},
      {"\0\0\0\x1C"
       "ftypavif\0\0\0\0"sv,
       "AVIF"},
      {"\0\0\0\x1C"
       "ftypheic\0\0\0\0"sv,
       "HEIC"},
      {"\0\0\0\x0CjP  \r\n\x87\n"sv, "JPEG 2000"},
      {"\xFF\x0A\0\0"sv, "JPEG XL"},
      {"\0\0\0\x0CJXL \r\n\x87\n"sv, "JPEG XL"},
  };
  for (const auto& [head, name] : heads) {
    const Status status = probe_image(Blob(head.begin(), head.end())).status();
    EXPECT_EQ(status.code(), Code::kUnsupported) << name;
    EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
  }
}

TEST(image, what_is_no_image_is_refused_with_the_way_out) {
  const Status status = probe_image(Blob{'h', 'e', 'l', 'l', 'o'}).status();
  EXPECT_EQ(status.to_string(),
            "Corrupt: expected a JPEG, PNG, WebP or BMP image, found text that begins with 'hello'");
  EXPECT_EQ(probe_image({}).status().code(), Code::kCorrupt);
}

TEST(image, content_decides_and_short_heads_are_enough) {
  EXPECT_TRUE(looks_like_image(Blob{0xFF, 0xD8, 0xFF, 0xE0}));
  EXPECT_TRUE(looks_like_image(Blob{'B', 'M'}));
  EXPECT_FALSE(looks_like_image(Blob{'R', 'I', 'F', 'F'}));
  EXPECT_FALSE(looks_like_image(Blob{'G', 'I', 'F', '8', '9', 'a'}));
  EXPECT_FALSE(looks_like_image({}));
}

TEST(image, crop_outside_the_picture_is_an_invalid_argument) {
  const Blob bytes = encode_jpeg(20, 10, {});
  const auto info = probe_image(bytes);
  ASSERT_TRUE(info.ok());
  constexpr int64_t kLarge = INT64_MAX;
  for (const Rect& crop : {Rect{0, 0, 21, 10}, Rect{0, 0, 20, 11}, Rect{-1, 0, 5, 5}, Rect{0, 0, 0, 5},
                           Rect{19, 9, 2, 1}, Rect{kLarge, 0, kLarge, 1}, Rect{1, kLarge, 1, kLarge}}) {
    Frame frame(20, ColorMode::kRgb);
    EXPECT_EQ(decode_rows(bytes, *info, crop, ColorMode::kRgb, frame).code(), Code::kInvalidArgument);
  }
}

TEST(image, gray_is_pillows_luma_of_the_rgb_pixels) {
  const Blob bytes = encode_jpeg(64, 48, {});
  const Blob rgb = decode_all(bytes).pixels, gray = decode_all(bytes, ColorMode::kGray).pixels;
  ASSERT_EQ(rgb.size(), 3 * gray.size());
  for (size_t i = 0; i < gray.size(); ++i) {
    ASSERT_EQ(gray[i], (19595 * rgb[3 * i] + 38470 * rgb[3 * i + 1] + 7471 * rgb[3 * i + 2] + 32768) >> 16);
  }
}

TEST(image, every_malformed_file_gives_an_error_or_pixels_and_the_same_again) {
  FOREBAY_NEED_SHARED_DATA();
  int files = 0;
  for (const auto& path :
       files_below({"malformed/jpeg", "malformed/png", "malformed/webp", "malformed/bmp", "malformed/images-pillow",
                    "malformed/images-deeplake", "malformed/gif", "malformed/tiff"})) {
    const Blob bytes = read_file(path);
    const Decoded first = decode_all(bytes), second = decode_all(bytes);
    EXPECT_EQ(first.status.to_string(), second.status.to_string()) << path;
    EXPECT_TRUE(first.pixels == second.pixels) << path;
    if (!first.status.ok()) {
      EXPECT_TRUE(is_data_error(first.status.code())) << path << ": " << first.status.to_string();
      EXPECT_FALSE(first.status.message().empty()) << path;
    }
    ++files;
  }
  EXPECT_GT(files, 200);
}

TEST(image, odd_pictures_decode_and_their_crops_equal) {
  FOREBAY_NEED_SHARED_DATA();
  int compared = 0;
  for (const auto& path :
       files_below({"images/odd", "images/odd-go", "images/webp", "images/d75", "images/scikit-samples"})) {
    const Blob bytes = read_file(path);
    const auto info = probe_image(bytes);
    if (!info.ok() || info->format == ImageFormat::kJpeg) continue;
    expect_crops_equal_full_decode(bytes, 8, static_cast<uint32_t>(compared), path.string());
    if (HasFatalFailure()) return;
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

// A head says nothing, or what the whole file says. 4 KiB are enough for most.
TEST(image, any_beginning_of_a_file_tells_its_size_or_nothing) {
  FOREBAY_NEED_SHARED_DATA();
  constexpr size_t kHead = 4096;
  int64_t told = 0, files = 0, oriented = 0;
  for (const auto& path : files_below({"images/exif-orientation", "images/odd", "images/odd-go", "images/webp",
                                       "images/multichannel", "images/d75", "images/scikit-samples"})) {
    const Blob bytes = read_file(path);
    const auto whole = probe_image(bytes);
    for (size_t length = 0; length < std::min<size_t>(bytes.size(), 70'000); length += length < 300 ? 1 : 701) {
      const auto head = probe_image_head(std::span(bytes).first(length));
      if (!whole.ok() || !head) continue;
      ASSERT_EQ(std::pair(head->stored_width, head->stored_height),
                std::pair(whole->stored_width, whole->stored_height))
          << path << ", " << length << " bytes";
      if (head->orientation) {
        ASSERT_EQ(*head->orientation, whole->orientation) << path << ", " << length << " bytes";
      }
      oriented += head->orientation.value_or(1) > 1 ? 1 : 0;
    }
    if (!whole.ok() || bytes.size() <= kHead) continue;
    ++files;
    told += probe_image_head(std::span(bytes).first(kHead)) ? 1 : 0;
  }
  EXPECT_GT(files, 50);
  EXPECT_GT(told, files / 2);
  EXPECT_GT(oriented, 0);
}

}  // namespace
}  // namespace forebay
