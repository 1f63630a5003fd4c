// Tests MP3: minimp3's vectors, files with and without tags, and damage.
#include <cmath>

#include "codec/audio/audio_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

constexpr const char* kMusic = "audio/mp3/test_audio_44100.mp3";

std::vector<int16_t> pcm(const Blob& bytes) {
  std::vector<int16_t> numbers(bytes.size() / 2);
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

TEST(Mp3, vectors_equal_their_pcm_to_one_step_of_sixteen_bits) {
  for (const std::string name : {"l3-he_free", "l3-si", "l3-si_block", "l3-nonstandard-id3v1", "l3-nonstandard-id3v2",
                                 "l3-nonstandard-id3v1-apetag"}) {
    FOREBAY_SHARED_AUDIO(bytes, "audio/mp3-vectors/" + name + ".bit");
    const std::vector<int16_t> expected = pcm(shared_audio("audio/mp3-vectors/" + name + ".pcm"));
    const Recording read = read_recording(bytes);
    ASSERT_TRUE(read.status.ok()) << name << ": " << read.status.to_string();
    // For some files the reference omits the last frame.
    ASSERT_GE(read.samples.size(), expected.size()) << name;
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(read.samples[i]) * 32768 - expected[i]));
    EXPECT_LE(worst, 1.2) << name;
  }
}

TEST(Mp3, vectors_that_hold_no_sound_are_told) {
  for (const std::string name : {"l3-nonstandard-id3v2-only", "l3-nonstandard-vbrtag-empty",
                                 "l3-nonstandard-vbrtag-oob-read", "l3-nonstandard-sideinfo-size"}) {
    FOREBAY_SHARED_AUDIO(bytes, "audio/mp3-vectors/" + name + ".bit");
    const Status status = read_recording(bytes).status;
    EXPECT_TRUE(!status.ok() && is_data_error(status.code())) << name << ": " << status.to_string();
  }
}

TEST(Mp3, a_format_that_changes_on_the_way_is_unsupported) {
  FOREBAY_SHARED_AUDIO(bytes, "audio/mp3-vectors/l3-nonstandard-compl-sideinfo-size.bit");
  const Status status = read_recording(bytes).status;
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.to_string().find("changes at sample 29952"), std::string::npos) << status.to_string();
}

TEST(Mp3, files_say_what_they_are_and_how_long) {
  FOREBAY_SHARED_AUDIO(bytes, kMusic);
  const Recording read = read_recording(bytes);
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.info.format, "MP3");
  EXPECT_EQ(read.info.rate, 44100);
  EXPECT_EQ(read.info.channels, 2);
  EXPECT_EQ(read.info.frames, 110'592);
  EXPECT_EQ(read.samples.size(), 2 * 110'592u);
}

TEST(Mp3, channels_mixed_by_the_decoder_are_the_mean_of_both) {
  for (const char* name : {kMusic, "audio/mp3/nasa_13013.mp4.audio.mp3"}) {
    FOREBAY_SHARED_AUDIO(bytes, name);
    const Recording both = read_recording(bytes);
    const auto reader = AudioReader::open(bytes, true);
    ASSERT_TRUE(reader.ok());
    EXPECT_TRUE((*reader)->info().mixed);
    EXPECT_EQ((*reader)->info().channels, 2);
    KeptFrames mixed(1);
    ASSERT_TRUE((*reader)->read(mixed).ok());
    ASSERT_EQ(2 * mixed.samples.size(), both.samples.size());
    for (size_t i = 0; i < mixed.samples.size(); ++i)
      ASSERT_NEAR(mixed.samples[i], (both.samples[2 * i] + both.samples[2 * i + 1]) / 2, 1e-6) << name << " " << i;
  }
}

TEST(Mp3, a_file_with_a_xing_tag_that_ends_early_is_corrupt) {
  FOREBAY_SHARED_AUDIO(whole, "audio/mp3/nasa_13013.mp4.audio_44100.mp3");
  ASSERT_TRUE(read_recording(whole).status.ok());
  const Blob half(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2));
  const Status status = read_recording(half).status;
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.to_string().find("MPEG frames"), std::string::npos) << status.to_string();
}

TEST(Mp3, bytes_that_are_no_frame_are_told) {
  FOREBAY_SHARED_AUDIO(whole, kMusic);
  Blob bytes = whole;
  for (size_t i = 0; i < 300; ++i) bytes[bytes.size() / 2 + i] = 0x55;
  const Recording whole_read = read_recording(whole), read = read_recording(bytes);
  // Damage inside one frame may decode; damage across the beginning of a frame does not.
  EXPECT_TRUE(read.status.code() == Code::kCorrupt || read.samples.size() == whole_read.samples.size())
      << read.status.to_string();
  bytes = whole;
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), 5000, 0x55);
  EXPECT_EQ(read_recording(bytes).status.code(), Code::kCorrupt);
}

TEST(Mp3, damage_is_told_or_decoded) {
  FOREBAY_SHARED_AUDIO(whole, "audio/mp3-vectors/l3-si_block.bit");
  const size_t samples = read_recording(whole).samples.size();
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    Blob bytes = whole;
    bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    if (i % 4 == 0) bytes.resize(random() % bytes.size());
    const Recording read = read_recording(bytes);
    EXPECT_TRUE(read.status.ok() || is_data_error(read.status.code())) << read.status.to_string();
    EXPECT_LE(read.samples.size(), 2 * samples);
  }
}

}  // namespace
}  // namespace forebay
