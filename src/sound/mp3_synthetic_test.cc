// Tests MP3 with frames of silence that the test makes: lengths, tags, cuts and changes.
#include <gtest/gtest.h>

#include "sound/mpeg_frames.h"
#include "sound/readers.h"
#include "sound/sound_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

Recording mp3_in(const Blob& bytes, bool mixes = false) {
  auto reader = open_mp3(bytes, mixes);
  if (!reader.ok()) return {reader.status(), {}, {}};
  KeptFrames kept((*reader)->info().mixed ? 1 : (*reader)->info().channels);
  const Status status = (*reader)->read(kept);
  return {status, (*reader)->info(), std::move(kept.samples)};
}

TEST(SilentMp3, has_1152_samples_in_each_frame) {
  for (const size_t frames : {1, 2, 10, 100}) {
    const Recording read = mp3_in(silent_mp3(frames));
    ASSERT_TRUE(read.status.ok()) << frames << ": " << read.status.to_string();
    EXPECT_EQ(read.info.format, "MP3");
    EXPECT_EQ(read.info.rate, 44'100);
    EXPECT_EQ(read.info.channels, 2);
    EXPECT_EQ(read.info.frames, static_cast<int64_t>(frames) * 1152);
    EXPECT_EQ(read.samples.size(), frames * 1152 * 2);
    for (const float sample : read.samples) ASSERT_EQ(sample, 0);
  }
}

TEST(SilentMp3, of_one_channel_has_one_and_is_not_mixed) {
  const Recording read = mp3_in(silent_mp3(4, true), true);
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.info.channels, 1);
  EXPECT_FALSE(read.info.mixed);
  EXPECT_EQ(read.samples.size(), 4u * 1152);
}

TEST(SilentMp3, of_two_channels_can_be_mixed_by_the_decoder) {
  const Recording read = mp3_in(silent_mp3(4), true);
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.info.channels, 2);
  EXPECT_TRUE(read.info.mixed);
  EXPECT_EQ(read.samples.size(), 4u * 1152);
}

TEST(SilentMp3, that_ends_inside_a_frame_is_corrupt) {
  const Blob whole = silent_mp3(5);
  // Fewer than the four bytes of a header are taken for padding.
  for (size_t size = 4 * 417 + 4; size < whole.size(); size += 29) {
    const Status status = mp3_in(first_bytes(whole, size)).status;
    EXPECT_EQ(status.code(), Code::kCorrupt) << size << ": " << status.to_string();
  }
}

TEST(SilentMp3, that_ends_anywhere_is_refused_or_has_only_whole_frames) {
  const Blob whole = silent_mp3(3);
  for (size_t size = 0; size < whole.size(); size += 7) {
    const Recording read = mp3_in(first_bytes(whole, size));
    if (read.status.ok()) {
      EXPECT_LT(size % 417, 4u) << size;
    } else {
      EXPECT_TRUE(is_data_error(read.status.code())) << size << ": " << read.status.to_string();
    }
  }
}

TEST(SilentMp3, with_tags_before_and_behind_is_the_same_recording) {
  Blob before = {'I', 'D', '3', 4, 0, 0, 0, 0, 0, 20};
  before.resize(30, 0);
  Blob behind;
  put_text(behind, "TAG");
  behind.resize(128, 0);
  const Recording read = mp3_in(joined({before, before, silent_mp3(5), behind}));
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.samples.size(), 5u * 1152 * 2);
}

TEST(SilentMp3, with_padding_behind_is_the_same_recording) {
  const Recording read = mp3_in(joined({silent_mp3(5), Blob(1000, 0)}));
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.samples.size(), 5u * 1152 * 2);
}

TEST(SilentMp3, whose_frames_go_on_after_other_bytes_is_corrupt) {
  const Status status = mp3_in(joined({silent_mp3(5), Blob(1000, 0x55), silent_mp3(5)})).status;
  EXPECT_EQ(status.code(), Code::kCorrupt) << status.to_string();
}

/// A frame of silence with an encoder's tag.
Blob tag_frame(uint32_t frames, uint32_t bytes) {
  Blob frame = silent_mp3(1);
  Blob tag;
  put_text(tag, "Xing");
  tag.insert(tag.end(), {0, 0, 0, 3});
  for (const uint32_t number : {frames, bytes})
    for (int shift = 24; shift >= 0; shift -= 8) tag.push_back(static_cast<uint8_t>(number >> shift));
  std::copy(tag.begin(), tag.end(), frame.begin() + 36);
  return frame;
}

TEST(SilentMp3, that_lacks_frames_of_which_its_tag_tells_is_corrupt) {
  const Blob whole = joined({tag_frame(10, 11 * 417), silent_mp3(10)});
  EXPECT_TRUE(mp3_in(whole).status.ok()) << mp3_in(whole).status.to_string();
  for (const size_t frames : {1, 5, 9}) {
    const Status status = mp3_in(first_bytes(whole, (frames + 1) * 417)).status;
    EXPECT_EQ(status.code(), Code::kCorrupt) << frames << ": " << status.to_string();
  }
}

TEST(MpegTags, say_frames_and_bytes_where_the_frame_has_them) {
  const MpegTotals said = read_mpeg_totals(tag_frame(1000, 417'000));
  EXPECT_EQ(said.frames, 1000);
  EXPECT_EQ(said.bytes, 417'000u);
  EXPECT_EQ(read_mpeg_totals(silent_mp3(1)).frames, 0);
  const Blob frame = tag_frame(1000, 417'000);
  for (size_t size = 0; size < 52; ++size) EXPECT_EQ(read_mpeg_totals(first_bytes(frame, size)).frames, 0) << size;
}

TEST(MpegTags, of_VBRI_say_them_too) {
  Blob frame = silent_mp3(1);
  std::copy_n("VBRI", 4, frame.begin() + 36);
  frame[36 + 17] = 77;
  frame[36 + 13] = 99;
  EXPECT_EQ(read_mpeg_totals(frame).frames, 77);
  EXPECT_EQ(read_mpeg_totals(frame).bytes, 99u);
}

}  // namespace
}  // namespace forebay
