#include <algorithm>
#include <cstring>
#include <string>

#include "codec/encode_image.h"
#include "codec/jpeg_library.h"
#include "codec/jpeg_restart.h"
#include "codec/jpeg_test_encoder.h"

namespace forebay {
namespace {

using namespace codec_test;

Buffer buffer_of(const Blob& bytes) {
  Buffer made = Buffer::allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}
Blob blob_of(const Buffer& buffer) { return {buffer.data(), buffer.data() + buffer.size()}; }

struct Coefficients {
  std::vector<int16_t>* values;
  int restart_rows;
};

/// All blocks of all components, in order.
void read_blocks(jpeg_decompress_struct* library, void* context) {
  auto* const out = static_cast<Coefficients*>(context);
  jpeg_read_header(library, TRUE);
  out->restart_rows = static_cast<int>(library->restart_interval);
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(library);
  for (int c = 0; c < library->num_components; ++c) {
    const jpeg_component_info& component = library->comp_info[c];
    for (JDIMENSION y = 0; y < component.height_in_blocks; ++y) {
      JBLOCKARRAY row =
          library->mem->access_virt_barray(reinterpret_cast<j_common_ptr>(library), arrays[c], y, 1, FALSE);
      for (JDIMENSION x = 0; x < component.width_in_blocks; ++x)
        out->values->insert(out->values->end(), row[0][x], row[0][x] + DCTSIZE2);
    }
  }
}

std::vector<int16_t> coefficients(const Blob& file, bool& restarts) {
  std::vector<int16_t> values;
  Coefficients found{&values, 0};
  EXPECT_TRUE(JpegLibrary().run(file, read_blocks, &found).ok());
  restarts = found.restart_rows > 0;
  return values;
}

TEST(RestartMarkers, coefficients_pixels_and_crops_stay_the_same) {
  for (const bool progressive : {false, true}) {
    for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 1), std::pair(2, 2), std::pair(1, 2)}) {
      const Blob file = encode_jpeg(97, 75, {.h = h, .v = v, .progressive = progressive});
      const Blob made = blob_of(with_restart_markers(buffer_of(file)));
      bool before = true, after = false;
      const auto was = coefficients(file, before), is = coefficients(made, after);
      EXPECT_TRUE(!before && after);
      EXPECT_TRUE(was == is && !is.empty());
      EXPECT_TRUE(decode_all(made).pixels == decode_all(file).pixels);
      expect_crops_equal_full_decode(made, 20, 7, "with restart markers");
      EXPECT_EQ(made, blob_of(with_restart_markers(buffer_of(file))));
      EXPECT_EQ(blob_of(with_restart_markers(buffer_of(made))), made);  // already done
    }
  }
}

TEST(RestartMarkers, other_segments_stay) {
  Blob file = encode_jpeg(40, 33, {});
  const std::string comment = "made on a Tuesday";
  Blob segment = {0xff, 0xfe, 0, static_cast<uint8_t>(comment.size() + 2)};
  segment.insert(segment.end(), comment.begin(), comment.end());
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  const Blob made = blob_of(with_restart_markers(buffer_of(file)));
  ASSERT_NE(made, file);
  EXPECT_NE(std::search(made.begin(), made.end(), comment.begin(), comment.end()), made.end());
}

TEST(RestartMarkers, what_cannot_have_them_stays_as_it_is) {
  const Blob whole = encode_jpeg(40, 33, {});
  for (size_t length = 0; length < whole.size(); length += 9) {
    const Blob part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(blob_of(with_restart_markers(buffer_of(part))), part);
  }
  const Blob text = {'n', 'o', ' ', 'p', 'i', 'c', 't', 'u', 'r', 'e'};
  EXPECT_EQ(blob_of(with_restart_markers(buffer_of(text))), text);
}

// One grey block with a coefficient of 12 bits, which can be read but not written. The writer fails
// after its segments have outgrown its first buffer.
TEST(RestartMarkers, a_picture_that_is_refused_in_the_middle_stays_as_it_is) {
  Blob file = {0xff, 0xd8};
  const auto segment = [&](uint8_t marker, const Blob& payload) {
    const size_t length = payload.size() + 2;
    file.insert(file.end(), {0xff, marker, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)});
    file.insert(file.end(), payload.begin(), payload.end());
  };
  segment(0xe5, Blob(60'000, 'x'));
  Blob quantization(65, 1);
  quantization[0] = 0;
  segment(0xdb, quantization);
  segment(0xc0, {8, 0, 8, 0, 8, 1, 1, 0x11, 0});
  // DC: "0" is a difference of 0.
  segment(0xc4, {0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  // AC: "0" has 12 bits, "10" ends.
  segment(0xc4, {0x10, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0c, 0x00});
  segment(0xda, {1, 1, 0, 0, 63, 0});
  file.insert(file.end(), {0x20, 0x02, 0xff, 0xd9});  // 0, 0 100000000000, 10
  ASSERT_EQ(decode_all(file).pixels.size(), 64u * 3) << "what is read";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(blob_of(with_restart_markers(buffer_of(file))), file);
}

}  // namespace
}  // namespace forebay
