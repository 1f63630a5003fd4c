// Tests FLAC: the samples of the reference, formats that other readers refuse, changes within a
// recording, and damage.
#include "codec/audio/audio_test_support.h"

namespace forebay {
namespace {

using namespace codec_test;

constexpr const char* kSpeech = "audio/librispeech/237/134500/237-134500-0000.flac";

/// The numbers of an int16 .npy file.
std::vector<int16_t> int16_npy(const Blob& file) {
  const size_t begin = 10u + file[8] + 256u * file[9];
  std::vector<int16_t> numbers((file.size() - begin) / 2);
  std::memcpy(numbers.data(), file.data() + begin, numbers.size() * 2);
  return numbers;
}

TEST(Flac, speech_equals_the_samples_of_the_reference) {
  for (int i = 0; i < 6; ++i) {
    const std::string name = "237-134500-000" + std::to_string(i);
    FOREBAY_SHARED_AUDIO(bytes, "audio/librispeech/237/134500/" + name + ".flac");
    const std::vector<int16_t> expected = int16_npy(shared_audio("audio/librispeech-decoded/" + name + ".npy"));
    const Recording read = read_recording(bytes);
    ASSERT_TRUE(read.status.ok()) << name << ": " << read.status.to_string();
    EXPECT_EQ(read.info.rate, 16000);
    ASSERT_EQ(read.samples.size(), expected.size()) << name;
    for (size_t s = 0; s < expected.size(); ++s) ASSERT_EQ(read.samples[s] * 32768, expected[s]) << name << " " << s;
  }
}

struct Case {
  const char* name;
  int64_t channels, frames;
};

TEST(Flac, every_number_of_bits_and_channels_is_read) {
  for (const Case& one : {Case{"38 - 3 channels (3.0)", 3, 168'210},
                          {"22 - 12 bit per sample", 2, 218'666},
                          {"14 - wasted bits", 2, 218'101},
                          {"42 - 7 channels (6.1)", 7, 405'749},
                          {"62 - predictor overflow check, 20-bit", 1, 227'247}}) {
    FOREBAY_SHARED_AUDIO(bytes, std::string("audio/flac-testbench/subset/") + one.name + ".flac");
    const Recording read = read_recording(bytes);
    ASSERT_TRUE(read.status.ok()) << one.name << ": " << read.status.to_string();
    EXPECT_EQ(read.info.channels, one.channels) << one.name;
    EXPECT_EQ(static_cast<int64_t>(read.samples.size()), one.frames * one.channels) << one.name;
    for (const float sample : read.samples) ASSERT_TRUE(sample >= -1 && sample < 1) << one.name;
  }
}

TEST(Flac, a_format_that_changes_on_the_way_is_unsupported_and_says_where) {
  FOREBAY_SHARED_AUDIO(depth, "audio/flac-testbench/uncommon/04 - changing bitdepth.flac");
  FOREBAY_SHARED_AUDIO(channels, "audio/flac-testbench/uncommon/02 - increasing number of channels.flac");
  const Status by_depth = read_recording(depth).status, by_channels = read_recording(channels).status;
  EXPECT_EQ(by_depth.code(), Code::kUnsupported);
  EXPECT_NE(by_depth.to_string().find("changes at sample 139264: 8 bits a sample, after 16"), std::string::npos)
      << by_depth.to_string();
  EXPECT_EQ(by_channels.code(), Code::kUnsupported);
  EXPECT_NE(by_channels.to_string().find("changes at sample 147456: 2 channels, after 1"), std::string::npos)
      << by_channels.to_string();
}

TEST(Flac, faulty_files_of_the_test_bench_are_read_or_told) {
  const std::string folder = "malformed/flac/";
  FOREBAY_SHARED_AUDIO(frame_size, folder + "02 - wrong maximum framesize.flac");
  EXPECT_EQ(read_recording(frame_size).samples.size(), 195'891u);
  EXPECT_EQ(read_recording(shared_audio(folder + "08 - blocksize 65536.flac")).samples.size(), 202'347u);
  EXPECT_EQ(read_recording(shared_audio(folder + "10 - invalid vorbis comment metadata block.flac")).samples.size(),
            119'279u);
  const Status channels = read_recording(shared_audio(folder + "04 - wrong number of channels.flac")).status;
  EXPECT_EQ(channels.to_string(), "Corrupt: the first frame has 1 channels, after 5 in STREAMINFO");
  const Status missing = read_recording(shared_audio(folder + "06 - missing streaminfo metadata block.flac")).status;
  EXPECT_EQ(missing.to_string(), "Corrupt: no STREAMINFO block");
}

TEST(Flac, a_file_that_ends_early_is_corrupt) {
  FOREBAY_SHARED_AUDIO(whole, kSpeech);
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99999}) {
    const auto size = static_cast<std::ptrdiff_t>(share * static_cast<double>(whole.size()));
    const Status status = read_recording(Blob(whole.begin(), whole.begin() + size)).status;
    EXPECT_EQ(status.code(), Code::kCorrupt) << share << ": " << status.to_string();
  }
}

TEST(Flac, a_flipped_bit_in_the_samples_is_corrupt) {
  FOREBAY_SHARED_AUDIO(whole, kSpeech);
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    Blob bytes = whole;
    const size_t place = 9000 + random() % (bytes.size() - 9000);
    bytes[place] ^= static_cast<uint8_t>(1u << random() % 8);
    EXPECT_EQ(read_recording(bytes).status.code(), Code::kCorrupt) << place;
  }
}

TEST(Flac, a_flipped_bit_in_the_header_is_told_or_decoded) {
  FOREBAY_SHARED_AUDIO(whole, kSpeech);
  for (size_t bit = 0; bit < 42 * 8; ++bit) {
    Blob bytes = whole;
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const Recording read = read_recording(bytes);
    EXPECT_TRUE(read.status.ok() || is_data_error(read.status.code())) << bit << ": " << read.status.to_string();
    EXPECT_LE(read.samples.size(), 98'080u) << bit;
  }
}

TEST(Flac, a_number_of_samples_that_is_too_small_is_corrupt) {
  FOREBAY_SHARED_AUDIO(whole, kSpeech);
  Blob bytes = whole;
  bytes[24] = bytes[23] = 0;  // among STREAMINFO's 36 bits: now fewer than present
  EXPECT_EQ(read_recording(bytes).status.code(), Code::kCorrupt);
}

TEST(Flac, tags_before_and_behind_do_no_harm) {
  FOREBAY_SHARED_AUDIO(whole, kSpeech);
  Blob bytes = {'I', 'D', '3', 4, 0, 0, 0, 0, 0, 20};
  bytes.resize(30);
  bytes.insert(bytes.end(), whole.begin(), whole.end());
  put_text(bytes, "TAG");
  bytes.resize(bytes.size() + 125);
  const Recording read = read_recording(bytes);
  ASSERT_TRUE(read.status.ok()) << read.status.to_string();
  EXPECT_TRUE(read.samples == read_recording(whole).samples);
}

}  // namespace
}  // namespace forebay
