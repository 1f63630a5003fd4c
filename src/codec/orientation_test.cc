#include "codec/orientation.h"

#include <algorithm>

#include "codec/codec_test_support.h"
#include "codec/exif.h"

namespace forebay {
namespace {

using namespace codec_test;

/// A TIFF structure with one entry.
Blob tiff(bool big_endian, int type, int count, int value) {
  const auto put = [big_endian](Blob& to, uint32_t number, int size) {
    for (int i = 0; i < size; ++i) to.push_back(static_cast<uint8_t>(number >> 8 * (big_endian ? size - 1 - i : i)));
  };
  Blob out = big_endian ? Blob{'M', 'M'} : Blob{'I', 'I'};
  put(out, 42, 2), put(out, 8, 4), put(out, 1, 2), put(out, 0x0112, 2);
  put(out, static_cast<uint32_t>(type), 2), put(out, static_cast<uint32_t>(count), 4);
  put(out, static_cast<uint32_t>(value), type == 4 ? 4 : type == 3 ? 2 : 1);
  out.resize(26);
  return out;
}

TEST(exif, orientation_is_read_in_both_byte_orders_and_three_types) {
  for (const bool big_endian : {false, true}) {
    for (const int type : {1, 3, 4}) {
      for (int value = 1; value <= 8; ++value) EXPECT_EQ(exif_orientation(tiff(big_endian, type, 1, value)), value);
    }
  }
}

TEST(exif, damage_means_no_orientation) {
  EXPECT_EQ(exif_orientation(tiff(true, 3, 1, 0)), std::nullopt);
  EXPECT_EQ(exif_orientation(tiff(true, 3, 1, 9)), std::nullopt);
  EXPECT_EQ(exif_orientation(tiff(true, 3, 2, 6)), std::nullopt);
  EXPECT_EQ(exif_orientation(tiff(true, 7, 1, 6)), std::nullopt);
  const Blob good = tiff(false, 3, 1, 6);
  for (size_t length = 0; length < 22; ++length) {
    EXPECT_EQ(exif_orientation(std::span(good).first(length)), std::nullopt) << length;
  }
  Blob far = good;
  far[4] = 0xFF, far[7] = 0xFF;
  EXPECT_EQ(exif_orientation(far), std::nullopt);
}

TEST(exif, xmp_counts_where_exif_says_nothing) {
  const auto bytes = [](std::string_view text) { return Blob(text.begin(), text.end()); };
  EXPECT_EQ(xmp_orientation(bytes("<x tiff:Orientation=\"6\"/>")), 6);
  EXPECT_EQ(xmp_orientation(bytes("<tiff:Orientation>3</tiff:Orientation>")), 3);
  EXPECT_EQ(xmp_orientation(bytes("tiff:Orientation tiff:Orientation=\"")), std::nullopt);
  OrientationFinder finder;
  finder.add_xmp(bytes("tiff:Orientation=\"3\""));
  EXPECT_EQ(finder.orientation(), 3);
  finder.add_exif(tiff(true, 3, 1, 6));
  EXPECT_EQ(finder.orientation(), 6);
}

TEST(orientation, a_rectangle_goes_where_its_pixels_go) {
  const int64_t width = 7, height = 5;
  Blob stored(static_cast<size_t>(width * height));
  for (size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<uint8_t>(i);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    ImageInfo info;
    info.stored_width = width, info.stored_height = height, info.orientation = orientation;
    Blob upright(stored.size());
    orient_pixels(stored.data(), width, height, 1, orientation, upright.data());
    const Rect crop = {1, 2, 3, 2};
    const Rect from = upright_to_stored(info, crop);
    Blob part(6);
    orient_pixels(cut(stored, width, from, ColorMode::kGray).data(), from.width, from.height, 1, orientation,
                  part.data());
    EXPECT_EQ(part, cut(upright, info.width(), crop, ColorMode::kGray)) << orientation;
    EXPECT_EQ(upright_to_stored(info, {0, 0, info.width(), info.height()}), (Rect{0, 0, width, height}));
  }
}

/// The data of a uint8 .npy file in C order.
Blob npy_data(const std::filesystem::path& path) {
  const Blob file = read_file(path);
  const size_t header = 10 + (file.at(8) | static_cast<size_t>(file.at(9)) << 8);
  return Blob(file.begin() + static_cast<std::ptrdiff_t>(header), file.end());
}

TEST(orientation, upright_pixels_equal_the_expected_outputs) {
  FOREBAY_NEED_SHARED_DATA();
  int compared = 0;
  for (const auto& path : files_below({"images/exif-orientation"})) {
    std::filesystem::path expected = path;
    expected.replace_extension(".npy");
    if (path.extension() != ".jpg" || !std::filesystem::exists(expected)) continue;
    const Blob bytes = read_file(path);
    const auto info = probe_image(bytes);
    ASSERT_TRUE(info.ok());
    const Decoded decoded = decode(bytes, *info, whole(*info));
    ASSERT_TRUE(decoded.status.ok());
    Blob upright(decoded.pixels.size());
    orient_pixels(decoded.pixels.data(), info->stored_width, info->stored_height, 3, info->orientation, upright.data());
    const Blob reference = npy_data(expected);
    ASSERT_EQ(upright.size(), reference.size()) << path;
    int largest = 0;
    for (size_t i = 0; i < upright.size(); ++i) largest = std::max(largest, std::abs(upright[i] - reference[i]));
    EXPECT_LE(largest, 0) << path;
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

TEST(orientation, every_file_of_the_set_is_the_same_picture_upright) {
  FOREBAY_NEED_SHARED_DATA();
  for (const auto& path : files_below({"images/exif-orientation"})) {
    if (path.extension() != ".jpg") continue;
    const auto info = probe_image(read_file(path));
    ASSERT_TRUE(info.ok());
    const bool turned = path.filename().string().find("rotate_90") != std::string::npos ||
                        path.filename().string().find("rotate_270") != std::string::npos;
    EXPECT_EQ(info->orientation >= 5, turned) << path;
  }
}

}  // namespace
}  // namespace forebay
