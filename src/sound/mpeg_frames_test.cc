#include "sound/mpeg_frames.h"

#include <gtest/gtest.h>

#include "codec/audio/audio_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

/// MPEG 1, layer III, 128 kbit/s, 44,100 Hz: 417 bytes.
Blob frames(size_t count) {
  Blob bytes;
  for (size_t i = 0; i < count; ++i) {
    put_number(bytes, 0x0090fbff, 4);
    bytes.resize((i + 1) * 417, 0x22);
  }
  return bytes;
}

TEST(MpegFrames, lengths_are_those_of_the_standards) {
  const auto bytes = [](uint32_t header) {
    Blob four;
    for (int shift = 24; shift >= 0; shift -= 8) four.push_back(static_cast<uint8_t>(header >> shift));
    return mpeg_frame_bytes(four);
  };
  EXPECT_EQ(bytes(0xfffb9000), 417u);  // MPEG 1, layer III, 128 kbit/s, 44.1 kHz
  EXPECT_EQ(bytes(0xfffb9200), 418u);  // with padding
  EXPECT_EQ(bytes(0xfff38000), 208u);  // MPEG 2, layer III, 64 kbit/s, 22.05 kHz
  EXPECT_EQ(bytes(0xffe38000), 417u);  // MPEG 2.5, layer III, 64 kbit/s, 11.025 kHz
  EXPECT_EQ(bytes(0xfffd8400), 384u);  // MPEG 1, layer II, 128 kbit/s, 48 kHz
  EXPECT_EQ(bytes(0xffff8400), 256u);  // MPEG 1, layer I, 256 kbit/s, 48 kHz
  for (const uint32_t none : {0xfffb0000u, 0xfffbf000u, 0xfffb9c00u, 0xffeb9000u, 0xfff99000u, 0x00fb9000u})
    EXPECT_EQ(bytes(none), 0u);
}

TEST(MpegFrames, what_follows_the_last_frame_is_no_part_of_it) {
  Blob bytes = frames(5);
  EXPECT_EQ(find_mpeg_frames(bytes).frames, 5);
  bytes.resize(bytes.size() + 1000, 0);
  MpegRun run = find_mpeg_frames(bytes);
  EXPECT_EQ(run.frames, 5);
  EXPECT_EQ(run.end, 5u * 417);
  EXPECT_FALSE(run.cut || run.resumed);
  const Blob more = frames(3);
  bytes.insert(bytes.end(), more.begin(), more.end());
  EXPECT_TRUE(find_mpeg_frames(bytes).resumed);
}

TEST(MpegFrames, a_frame_that_is_not_whole_is_a_cut) {
  Blob bytes = frames(5);
  bytes.resize(bytes.size() - 10);
  const MpegRun run = find_mpeg_frames(bytes);
  EXPECT_EQ(run.frames, 4);
  EXPECT_TRUE(run.cut);
}

}  // namespace
}  // namespace forebay
