// Tests FLAC with files that the test encodes: widths and channels, unknown lengths, damage, and
// FLAC inside of Ogg.
#include <gtest/gtest.h>

#include <cmath>

#include "sound/readers.h"
#include "sound/sound_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

Recording read_all_of(Result<std::unique_ptr<AudioReader>> reader) {
  if (!reader.ok()) return {reader.status(), {}, {}};
  KeptFrames kept((*reader)->info().channels);
  const Status status = (*reader)->read(kept);
  return {status, (*reader)->info(), std::move(kept.samples)};
}

/// Different samples of `bits` bits.
std::vector<int> narrow_ramp(size_t count, int bits) {
  std::vector<int> samples = wide_ramp(count, bits);
  for (int& sample : samples) sample >>= 32 - bits;
  return samples;
}

/// The mapping of FLAC to Ogg: the file's bytes in pages, after a header of nine bytes.
Blob ogg_flac(const Blob& flac, size_t page_bytes = 1000) {
  Blob first = {0x7f};
  put_text(first, "FLAC");
  first.insert(first.end(), {1, 0, 0, 0});
  const size_t header = 4 + 4 + 34;  // "fLaC" and STREAMINFO
  first.insert(first.end(), flac.begin(), flac.begin() + static_cast<std::ptrdiff_t>(header));
  Blob bytes = ogg_page({.flags = 2, .payload = first});
  uint32_t sequence = 0;
  for (size_t at = header; at < flac.size(); at += page_bytes) {
    const size_t end = std::min(flac.size(), at + page_bytes);
    const Blob payload(flac.begin() + static_cast<std::ptrdiff_t>(at), flac.begin() + static_cast<std::ptrdiff_t>(end));
    const uint8_t flags = end == flac.size() ? 4 : 0;
    bytes = joined({bytes, ogg_page({.sequence = ++sequence, .flags = flags, .payload = payload})});
  }
  return bytes;
}

TEST(FlacFiles, of_every_width_give_exactly_what_was_encoded) {
  for (const int bits : {8, 12, 16, 20, 24}) {
    const std::vector<int> samples = narrow_ramp(5000, bits);
    const Recording read = read_all_of(open_flac(written_flac(samples, 1, static_cast<unsigned>(bits))));
    ASSERT_TRUE(read.status.ok()) << bits << ": " << read.status.to_string();
    EXPECT_EQ(read.info.frames, 5000);
    ASSERT_EQ(read.samples.size(), samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      ASSERT_EQ(read.samples[i], std::ldexp(static_cast<float>(samples[i]), 1 - bits)) << bits << " " << i;
  }
}

TEST(FlacFiles, of_one_to_eight_channels_have_the_samples_of_a_frame_side_by_side) {
  for (unsigned channels = 1; channels <= 8; ++channels) {
    const std::vector<int> samples = narrow_ramp(size_t{1500} * channels, 16);
    const Recording read = read_all_of(open_flac(written_flac(samples, channels)));
    ASSERT_TRUE(read.status.ok()) << channels << ": " << read.status.to_string();
    EXPECT_EQ(read.info.channels, channels);
    ASSERT_EQ(read.samples.size(), samples.size());
    for (size_t i = 0; i < samples.size(); ++i) ASSERT_EQ(read.samples[i] * 32768, samples[i]) << channels << " " << i;
  }
}

// The callbacks of the encoder cannot go back to the header, so it says 0 samples.
TEST(FlacFiles, whose_header_says_no_length_are_read_to_their_end) {
  const std::vector<int> samples = narrow_ramp(5000, 16);
  Blob bytes = written_flac(samples, 1, 16, 16'000, false);
  Recording read = read_all_of(open_flac(bytes));
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_FALSE(read.info.frames);
  EXPECT_EQ(read.samples.size(), 5000u);
  bytes.resize(bytes.size() + 1000, 0);  // as padding of a disk's blocks
  read = read_all_of(open_flac(bytes));
  EXPECT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.samples.size(), 5000u);
}

TEST(FlacFiles, whose_header_says_no_length_and_that_end_inside_a_frame_are_corrupt) {
  const Blob bytes = written_flac(narrow_ramp(5000, 16), 1, 16, 16'000, false);
  for (const size_t missing : {size_t{1}, size_t{100}, size_t{1500}})
    EXPECT_EQ(read_all_of(open_flac(first_bytes(bytes, bytes.size() - missing))).status.code(), Code::kCorrupt)
        << missing;
}

TEST(FlacFiles, that_end_anywhere_are_corrupt) {
  const Blob bytes = written_flac(narrow_ramp(3000, 16));
  for (size_t size = 0; size < bytes.size(); size += size < 100 ? 1 : 61)
    ASSERT_EQ(read_all_of(open_flac(first_bytes(bytes, size))).status.code(), Code::kCorrupt) << size;
}

TEST(FlacFiles, with_a_flipped_bit_in_a_frame_are_corrupt) {
  const Blob whole = written_flac(narrow_ramp(3000, 16));
  for (size_t at = 150; at < whole.size(); at += 17) {
    Blob bytes = whole;
    bytes[at] ^= 0x10;
    ASSERT_EQ(read_all_of(open_flac(bytes)).status.code(), Code::kCorrupt) << at;
  }
}

TEST(FlacFiles, that_follow_each_other_are_refused_and_say_where) {
  for (const bool known_length : {true, false}) {
    const Blob one = written_flac(narrow_ramp(3000, 16), 1, 16, 16'000, known_length);
    const Status status = read_all_of(open_flac(joined({one, one}))).status;
    EXPECT_EQ(status.code(), Code::kUnsupported) << status.to_string();
    EXPECT_NE(status.to_string().find(std::to_string(one.size())), std::string::npos) << status.to_string();
  }
}

TEST(FlacFiles, with_more_frames_than_the_header_says_are_corrupt) {
  const Blob whole = written_flac(narrow_ramp(4096, 16));
  for (const int said : {1024, 2048, 4000}) {
    Blob bytes = whole;
    bytes[24] = static_cast<uint8_t>(said >> 8);
    bytes[25] = static_cast<uint8_t>(said);
    EXPECT_EQ(read_all_of(open_flac(bytes)).status.code(), Code::kCorrupt) << said;
  }
}

TEST(FlacFiles, in_pieces_of_any_length_are_the_same_recording) {
  const Blob whole = written_flac(narrow_ramp(3000, 16));
  const std::vector<float> expected = read_all_of(open_flac(whole)).samples;
  for (const size_t length : {size_t{1}, size_t{7}, size_t{1000}, whole.size()}) {
    std::vector<AudioBytes> pieces;
    for (size_t at = 0; at < whole.size(); at += length) {
      pieces.push_back(AudioBytes(whole).subspan(at, std::min(length, whole.size() - at)));
      pieces.emplace_back();  // an empty one changes nothing
    }
    const Recording read = read_all_of(open_flac_pieces(std::move(pieces)));
    ASSERT_TRUE(read.status.ok()) << length << ": " << read.status.to_string();
    EXPECT_EQ(read.samples, expected) << length;
  }
}

TEST(FlacFiles, in_ogg_give_the_same_samples) {
  const Blob flac = written_flac(narrow_ramp(6000, 16), 2);
  const std::vector<float> expected = read_all_of(open_flac(flac)).samples;
  for (const size_t page_bytes : {size_t{100}, size_t{1000}, size_t{60'000}}) {
    const Recording read = read_all_of(open_ogg(ogg_flac(flac, page_bytes)));
    ASSERT_TRUE(read.status.ok()) << page_bytes << ": " << read.status.to_string();
    EXPECT_EQ(read.info.format, "Ogg FLAC");
    EXPECT_EQ(read.info.channels, 2);
    EXPECT_EQ(read.samples, expected) << page_bytes;
  }
}

TEST(FlacFiles, in_ogg_that_follow_each_other_are_one_recording) {
  const Blob one = ogg_flac(written_flac(narrow_ramp(2000, 16)));
  const Recording read = read_all_of(open_ogg(joined({one, one, one})));
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.info.frames, 6000);
  EXPECT_EQ(read.samples.size(), 6000u);
  const Blob other = ogg_flac(written_flac(narrow_ramp(2000, 16), 2));
  EXPECT_EQ(read_all_of(open_ogg(joined({one, other}))).status.code(), Code::kUnsupported);
}

TEST(FlacFiles, in_ogg_whose_first_packet_is_too_short_are_corrupt) {
  Blob first = {0x7f};
  put_text(first, "FLAC");
  const Blob bytes = joined({ogg_page({.flags = 2, .payload = first}), ogg_page({.sequence = 1, .flags = 4})});
  EXPECT_EQ(read_all_of(open_ogg(bytes)).status.code(), Code::kCorrupt);
}

}  // namespace
}  // namespace forebay
