// Tests how formats are detected, the contents of AudioInfo, and decoding of WAV.
#include "codec/audio/audio.h"

#include "codec/audio/audio_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

TEST(Audio, wav_gives_sixteen_bits_over_32768) {
  const std::vector<int16_t> samples = {0, 1, -1, 32767, -32768, 256};
  const Recording read = read_recording(wav_of(samples, 8000));
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.info.format, "WAV");
  EXPECT_EQ(read.info.rate, 8000);
  EXPECT_EQ(read.info.channels, 1);
  EXPECT_EQ(read.info.frames, 6);
  ASSERT_EQ(read.samples.size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(read.samples[i], static_cast<float>(samples[i]) / 32768);
}

TEST(Audio, frames_have_their_channels_side_by_side) {
  const Recording read = read_recording(wav_of({1, 2, 3, 4}, 8000, 2));
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.info.frames, 2);
  EXPECT_EQ(read.samples, (std::vector<float>{1 / 32768.f, 2 / 32768.f, 3 / 32768.f, 4 / 32768.f}));
}

TEST(Audio, long_recordings_come_in_pieces_and_are_whole) {
  const std::vector<int16_t> samples = ramp(100'001);
  const Recording read = read_recording(wav_of(samples));
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  ASSERT_EQ(read.samples.size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i) ASSERT_EQ(read.samples[i] * 32768, samples[i]) << i;
}

TEST(Audio, an_empty_recording_is_one) {
  const Recording read = read_recording(wav_of({}));
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_TRUE(read.samples.empty());
}

TEST(Audio, other_formats_are_named) {
  const auto said = [](const std::string& bytes) {
    return read_recording(Blob(bytes.begin(), bytes.end())).status.to_string();
  };
  EXPECT_NE(said(std::string("\0\0\0\x20", 4) + "ftypM4A \0\0\0\0")
                .find("Unsupported: expected a recording (WAV, FLAC, MP3, Ogg, AIFF, AU or CAF), found an MP4 file; "),
            std::string::npos);
  EXPECT_NE(said("MThd\0\0\0\6").find("MIDI"), std::string::npos);
  EXPECT_NE(said("hello, this is text").find("found text that begins with 'hello, this is t'"), std::string::npos);
  EXPECT_NE(said("").find("found an empty file"), std::string::npos);
  EXPECT_NE(said("NIST_1A\n   1024\n").find("found a NIST SPHERE file; convert it to WAV"), std::string::npos);
  EXPECT_NE(said("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n").find("git lfs pull"),
            std::string::npos);
}

TEST(Audio, a_wav_file_that_ends_early_is_corrupt) {
  Blob bytes = wav_of(ramp(1000));
  bytes.resize(bytes.size() - 700);
  const Status status = read_recording(bytes).status;
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.to_string().find("says 2000 bytes of samples, and 1300 are there"), std::string::npos)
      << status.to_string();
}

TEST(Audio, a_wav_file_whose_writer_did_not_know_its_length_is_read_to_its_end) {
  Blob bytes = wav_of(ramp(1000));
  for (size_t i = 40; i < 44; ++i) bytes[i] = 0xff;
  const Recording read = read_recording(bytes);
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.samples.size(), 1000u);
}

TEST(Audio, a_coding_of_samples_that_is_not_read_is_named) {
  Blob bytes = wav_of(ramp(100));
  bytes[20] = 0x55;  // MPEG layer III
  const Status status = read_recording(bytes).status;
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.to_string().find("0x0055"), std::string::npos) << status.to_string();
}

TEST(Audio, absurd_headers_are_refused) {
  for (const auto& [place, value] : {std::pair{22, 0}, {24, 0}, {34, 0}, {16, 0xff}}) {
    Blob bytes = wav_of(ramp(100));
    for (int i = 0; i < 2; ++i) bytes[static_cast<size_t>(place + i)] = static_cast<uint8_t>(value);
    const Status status = read_recording(bytes).status;
    EXPECT_TRUE(is_data_error(status.code())) << place << ": " << status.to_string();
  }
}

TEST(Audio, frames_are_counted_up_to_a_limit) {
  const Blob bytes = wav_of(ramp(50'000));
  EXPECT_EQ(*count_audio_frames(bytes, 50'000), 50'000);
  EXPECT_GT(*count_audio_frames(bytes, 10'000), 10'000);
  EXPECT_LT(*count_audio_frames(bytes, 10'000), 50'000);
}

// Every truncation and many flipped bits are reported or decoded, never to more frames than the
// header states.
TEST(Audio, damage_to_a_wav_file_is_told_or_decoded) {
  const Blob whole = wav_of(ramp(300), 8000, 2);
  for (size_t size = 0; size < 60; ++size) {
    const Status status = read_recording(Blob(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))).status;
    EXPECT_TRUE(!status.ok() && is_data_error(status.code())) << size << ": " << status.to_string();
  }
  for (size_t bit = 0; bit < 44 * 8; ++bit) {
    Blob bytes = whole;
    bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const Recording read = read_recording(bytes);
    EXPECT_TRUE(read.status.ok() || is_data_error(read.status.code())) << bit << ": " << read.status.to_string();
    EXPECT_LE(read.samples.size(), bytes.size() * 8) << bit;
  }
}

TEST(Audio, ogg_vorbis_is_read) {
  FOREBAY_SHARED_AUDIO(bytes, "audio/esc10/001 - Dog bark/1-30226-A.ogg");
  const Recording read = read_recording(bytes);
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_EQ(read.info.format, "Ogg Vorbis");
  EXPECT_EQ(read.info.rate, 44100);
  EXPECT_EQ(read.samples.size(), 220'544u);
}

TEST(Audio, an_ogg_page_that_is_damaged_is_told) {
  FOREBAY_SHARED_AUDIO(whole, "audio/esc10/001 - Dog bark/1-30226-A.ogg");
  Blob bytes = whole;
  bytes[bytes.size() / 2] ^= 0x10;  // the page's checksum is wrong, so the page is missing
  EXPECT_EQ(read_recording(bytes).status.code(), Code::kCorrupt);
}

}  // namespace
}  // namespace forebay
