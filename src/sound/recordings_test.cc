// Tests that each format gives exactly the samples that were written, in files that the test makes
// with the formats' own libraries, and that files that were cut, damaged or joined are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "codec/audio/sound_library.h"
#include "sound/readers.h"
#include "sound/sound_test_support.h"

namespace forebay {

extern "C" SoundLibraryEntry forebay_sound_v1;

namespace {

using namespace codec_test;

Recording recording_in(const Blob& bytes) {
  auto reader = forebay_sound_v1()->open(bytes, false);
  if (!reader.ok()) return {reader.status(), {}, {}};
  KeptFrames kept((*reader)->info().channels);
  const Status status = (*reader)->read(kept);
  return {status, (*reader)->info(), std::move(kept.samples)};
}

struct Container {
  const char* name;
  int format;
};
constexpr Container kContainers[] = {{"WAV", SF_FORMAT_WAV},   {"RF64", SF_FORMAT_RF64}, {"W64", SF_FORMAT_W64},
                                     {"AIFF", SF_FORMAT_AIFF}, {"AU", SF_FORMAT_AU},     {"CAF", SF_FORMAT_CAF}};

struct Coding {
  int format, bits;
};
constexpr Coding kExactCodings[] = {
    {SF_FORMAT_PCM_16, 16}, {SF_FORMAT_PCM_24, 24}, {SF_FORMAT_FLOAT, 24}, {SF_FORMAT_DOUBLE, 24}};

TEST(Recordings, of_every_container_and_coding_give_exactly_what_was_written) {
  for (const Container& container : kContainers) {
    for (const Coding& coding : kExactCodings) {
      const std::vector<int> samples = wide_ramp(3000, coding.bits);
      const Recording read = recording_in(written_sound(container.format | coding.format, samples, 2, 22'050));
      ASSERT_TRUE(read.status.ok()) << container.name << " " << coding.bits << ": " << read.status.to_string();
      EXPECT_EQ(read.info.format, container.name);
      EXPECT_EQ(read.info.rate, 22'050);
      EXPECT_EQ(read.info.channels, 2);
      EXPECT_EQ(read.info.frames, 1500);
      ASSERT_EQ(read.samples.size(), samples.size());
      for (size_t i = 0; i < samples.size(); ++i)
        ASSERT_EQ(read.samples[i], std::ldexp(static_cast<float>(samples[i]), -31)) << container.name << " " << i;
    }
  }
}

TEST(Recordings, of_few_bits_give_what_was_written_as_nearly_as_they_can) {
  for (const auto& [format, tolerance] :
       {std::pair{SF_FORMAT_PCM_U8, 1.0 / 128}, {SF_FORMAT_ULAW, 1.0 / 16}, {SF_FORMAT_ALAW, 1.0 / 16}}) {
    const std::vector<int> samples = wide_ramp(500, 16);
    const Recording read = recording_in(written_sound(SF_FORMAT_WAV | format, samples));
    ASSERT_TRUE(read.status.ok()) << read.status.to_string();
    ASSERT_EQ(read.samples.size(), samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
      ASSERT_NEAR(read.samples[i], std::ldexp(static_cast<double>(samples[i]), -31), tolerance) << i;
  }
}

TEST(Recordings, of_up_to_64_channels_have_the_samples_of_a_frame_side_by_side) {
  for (const int channels : {1, 2, 3, 6, 8, 64}) {
    std::vector<int> samples;
    for (int i = 0; i < 10 * channels; ++i) samples.push_back(i << 16);
    const Recording read = recording_in(written_sound(SF_FORMAT_WAV | SF_FORMAT_PCM_16, samples, channels));
    ASSERT_TRUE(read.status.ok()) << channels << ": " << read.status.to_string();
    EXPECT_EQ(read.info.channels, channels);
    EXPECT_EQ(read.info.frames, 10);
    ASSERT_EQ(read.samples.size(), samples.size());
    for (size_t i = 0; i < samples.size(); ++i) ASSERT_EQ(read.samples[i] * 32768, static_cast<float>(i));
  }
}

TEST(Recordings, of_more_channels_are_refused_with_the_limit) {
  const Blob bytes = written_sound(SF_FORMAT_WAV | SF_FORMAT_PCM_16, std::vector<int>(650), 65);
  ASSERT_FALSE(bytes.empty());
  EXPECT_EQ(recording_in(bytes).status.code(), Code::kUnsupported);
}

TEST(Recordings, of_any_rate_say_it) {
  for (const int rate : {1, 8000, 44'100, 192'000, 768'000}) {
    const Recording read = recording_in(written_sound(SF_FORMAT_WAV | SF_FORMAT_PCM_16, wide_ramp(10, 16), 1, rate));
    ASSERT_TRUE(read.status.ok()) << rate << ": " << read.status.to_string();
    EXPECT_EQ(read.info.rate, rate);
  }
}

TEST(Recordings, without_samples_are_recordings) {
  for (const Container& container : kContainers) {
    const Recording read = recording_in(written_sound(container.format | SF_FORMAT_PCM_16, {}));
    EXPECT_TRUE(read.status.ok()) << container.name << ": " << read.status.to_string();
    EXPECT_TRUE(read.samples.empty());
  }
}

TEST(Recordings, longer_than_a_block_are_whole) {
  const std::vector<int> samples = wide_ramp(100'003, 16);
  for (const Container& container : kContainers) {
    const Recording read = recording_in(written_sound(container.format | SF_FORMAT_PCM_16, samples));
    ASSERT_TRUE(read.status.ok()) << container.name;
    ASSERT_EQ(read.samples.size(), samples.size()) << container.name;
    EXPECT_EQ(read.samples.back(), std::ldexp(static_cast<float>(samples.back()), -31));
  }
}

TEST(Recordings, that_end_early_are_refused_wherever_they_end) {
  for (const Container& container : kContainers) {
    const Blob whole = written_sound(container.format | SF_FORMAT_PCM_16, wide_ramp(400, 16), 2);
    const size_t samples_begin = whole.size() - 800;
    for (size_t size = 0; size < whole.size(); size += size < samples_begin ? 1 : 37) {
      const Status status = recording_in(first_bytes(whole, size)).status;
      ASSERT_FALSE(status.ok()) << container.name << " " << size << " of " << whole.size();
      ASSERT_TRUE(is_data_error(status.code())) << container.name << " " << size << ": " << status.to_string();
    }
  }
}

TEST(Recordings, that_are_followed_by_another_one_are_refused_and_say_where) {
  for (const Container& container : kContainers) {
    const Blob one = written_sound(container.format | SF_FORMAT_PCM_16, wide_ramp(400, 16));
    const Status status = recording_in(joined({one, one})).status;
    EXPECT_EQ(status.code(), Code::kUnsupported) << container.name << ": " << status.to_string();
    EXPECT_NE(status.to_string().find(std::to_string(one.size())), std::string::npos) << status.to_string();
  }
}

TEST(Recordings, with_a_flipped_bit_in_the_header_are_refused_or_read_and_are_never_longer) {
  for (const Container& container : kContainers) {
    const Blob whole = written_sound(container.format | SF_FORMAT_PCM_16, wide_ramp(300, 16), 2);
    for (size_t bit = 0; bit < (whole.size() - 600) * 8; ++bit) {
      Blob bytes = whole;
      bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const Recording read = recording_in(bytes);
      ASSERT_TRUE(read.status.ok() || is_data_error(read.status.code()))
          << container.name << " " << bit << ": " << read.status.to_string();
      ASSERT_LE(read.samples.size(), bytes.size() * 8) << container.name << " " << bit;
    }
  }
}

TEST(Recordings, whose_sink_fails_end_with_its_error) {
  class Full final : public AudioSink {
   public:
    Status frames(const float*, int64_t) override { return out_of_budget("full", 1); }
  };
  for (const Blob& bytes : {written_sound(SF_FORMAT_WAV | SF_FORMAT_PCM_16, wide_ramp(100, 16)),
                            written_flac(std::vector<int>(100)), silent_mp3(3)}) {
    Full full;
    const auto reader = forebay_sound_v1()->open(bytes, false);
    ASSERT_TRUE(reader.ok()) << reader.status().to_string();
    EXPECT_EQ((*reader)->read(full).code(), Code::kOutOfBudget);
  }
}

TEST(Recordings, of_vorbis_and_opus_are_read_to_their_last_frame) {
  for (const auto& [format, name, rate] :
       {std::tuple{SF_FORMAT_VORBIS, "Ogg Vorbis", 16'000}, {SF_FORMAT_OPUS, "Ogg Opus", 48'000}}) {
    const Blob bytes = written_sound(SF_FORMAT_OGG | format, std::vector<int>(20'000), 2, rate);
    if (bytes.empty()) GTEST_SKIP() << "this libsndfile does not write " << name;
    const Recording read = recording_in(bytes);
    ASSERT_TRUE(read.status.ok()) << name << ": " << read.status.to_string();
    EXPECT_EQ(read.info.format, name);
    EXPECT_EQ(read.info.rate, rate);
    EXPECT_EQ(read.samples.size(), 20'000u) << name;
    for (const float sample : read.samples) ASSERT_NEAR(sample, 0, 1e-3);
    for (const size_t size : {bytes.size() / 4, bytes.size() / 2, bytes.size() - 1})
      EXPECT_EQ(recording_in(first_bytes(bytes, size)).status.code(), Code::kCorrupt) << name << " " << size;
  }
}

TEST(Recordings, of_ogg_may_follow_each_other_if_their_format_is_the_same) {
  const Blob one = written_sound(SF_FORMAT_OGG | SF_FORMAT_VORBIS, std::vector<int>(5000), 1, 16'000);
  const Blob other_rate = written_sound(SF_FORMAT_OGG | SF_FORMAT_VORBIS, std::vector<int>(5000), 1, 22'050);
  if (one.empty() || other_rate.empty()) GTEST_SKIP() << "this libsndfile does not write Ogg Vorbis";
  const Recording twice = recording_in(joined({one, one}));
  ASSERT_TRUE(twice.status.ok()) << twice.status.to_string();
  EXPECT_EQ(twice.samples.size(), 10'000u);
  const Status status = recording_in(joined({one, other_rate})).status;
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.to_string().find("22050 Hz"), std::string::npos) << status.to_string();
}

TEST(Recordings, that_are_none_say_what_they_are) {
  for (const char* const text : {"", "hello", "\x89PNG\r\n\x1a\n"}) {
    const Status status = recording_in(Blob(text, text + std::strlen(text))).status;
    EXPECT_TRUE(!status.ok() && is_data_error(status.code())) << text << ": " << status.to_string();
  }
}

TEST(SoundLibrary, names_the_versions_of_its_libraries) {
  const std::string versions = forebay_sound_v1()->versions();
  for (const char* const name : {"libsndfile", "mpg123", kMp3Decoder, "soxr"})
    EXPECT_NE(versions.find(name), std::string::npos) << versions;
}

}  // namespace
}  // namespace forebay
