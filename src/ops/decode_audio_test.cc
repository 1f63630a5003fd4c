// decode_audio: choice of the field, shapes, mixing and resampling, limits, and errors of bad
// recordings.
#include "codec/audio/audio_test_support.h"
#include "ops/sound_test_support.h"

namespace forebay {
namespace {

using namespace ops_test;
using codec_test::wav_of;

Schema stored(const std::string& name = "bytes") { return Schema({bytes_field(name)}); }

Result<Record> decoded(const Blob& bytes, Json args = Json::object(), const RunOptions& options = {}) {
  Record record;
  record.push_back(encoded(bytes));
  FOREBAY_RETURN_IF_ERROR(run(stored(), {step("decode_audio", std::move(args))}, record, options));
  return record;
}

TEST(DecodeAudio, bytes_become_audio_with_its_rate_beside_it) {
  const Schema after = schema_after(stored(), {step("decode_audio")});
  EXPECT_EQ(after.to_string(), "audio: float32 (?,), audio_rate: int64 ()");
  const auto record = decoded(wav_of({16384, -16384}, 8000));
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  ASSERT_EQ(record->size(), 2u);
  EXPECT_EQ(floats((*record)[0].tensor), (std::vector<float>{0.5, -0.5}));
  EXPECT_EQ(*(*record)[1].tensor.data<int64_t>(), 8000);
}

TEST(DecodeAudio, a_rate_that_is_given_needs_no_field) {
  const Schema after = schema_after(stored("audio"), {step("decode_audio", {{"rate", 16000}})});
  EXPECT_EQ(after.to_string(), "audio: float32 (?,)");
  EXPECT_EQ(after[0].rate, 16000);
  const auto record = decoded(wav_of(codec_test::ramp(800), 8000), {{"rate", 16000}});
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  EXPECT_EQ((*record)[0].tensor.shape, (Shape{1600}));
}

TEST(DecodeAudio, channels_are_mixed_or_kept_one_after_the_other) {
  const Blob stereo = wav_of({8192, 16384, -8192, 0}, 8000, 2);
  EXPECT_EQ(floats((*decoded(stereo))[0].tensor), (std::vector<float>{0.375, -0.125}));
  const auto kept = decoded(stereo, {{"mono", false}});
  EXPECT_EQ((*kept)[0].tensor.shape, (Shape{2, 2}));
  EXPECT_EQ(floats((*kept)[0].tensor), (std::vector<float>{0.25, -0.25, 0.5, 0}));
  EXPECT_EQ(schema_after(stored(), {step("decode_audio", {{"mono", false}, {"channels", 2}})})[0].shape,
            (Shape{2, Shape::kUnknown}));
}

TEST(DecodeAudio, another_number_of_channels_than_wanted_is_unsupported) {
  const Status status = decoded(wav_of({1, 2}), {{"mono", false}, {"channels", 2}}).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.to_string().find("1 channels where channels=2"), std::string::npos) << status.to_string();
}

TEST(DecodeAudio, resampled_channels_stay_apart) {
  std::vector<int16_t> samples;
  for (int i = 0; i < 2000; ++i) samples.insert(samples.end(), {8192, -16384});
  const auto record = decoded(wav_of(samples, 8000, 2), {{"rate", 16000}, {"mono", false}});
  ASSERT_TRUE(record.ok()) << record.status().to_string();
  const Tensor& made = (*record)[0].tensor;
  ASSERT_EQ(made.shape, (Shape{2, 4000}));
  EXPECT_NEAR(made.data<float>()[2000], 0.25, 1e-4);
  EXPECT_NEAR(made.data<float>()[6000], -0.5, 1e-4);
}

TEST(DecodeAudio, longer_recordings_than_max_samples_are_unsupported_before_memory_is_taken) {
  const Blob bytes = wav_of(codec_test::ramp(1001));
  EXPECT_TRUE(decoded(bytes, {{"max_samples", 1001}}).ok());
  const Status status = decoded(bytes, {{"max_samples", 1000}}).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.to_string().find("raise max_samples"), std::string::npos) << status.to_string();
  EXPECT_EQ(decoded(bytes, {{"max_samples", 1500}, {"rate", 32000}}).status().code(), Code::kUnsupported);
}

TEST(DecodeAudio, memory_is_reserved_first_and_the_figure_is_told) {
  const Blob bytes = wav_of(codec_test::ramp(1'000'000));
  const Status status = decoded(bytes, Json::object(), {.grant = 3 << 20}).status();
  EXPECT_EQ(status.code(), Code::kOutOfBudget);
  EXPECT_GE(status.bytes_needed(), 4'000'000u);
  EXPECT_TRUE(decoded(bytes, Json::object(), {.grant = status.bytes_needed()}).ok());
}

TEST(DecodeAudio, a_header_that_promises_far_too_much_takes_no_memory_for_it) {
  const std::filesystem::path data = shared_data();
  if (data.empty()) GTEST_SKIP() << "SHARED DATA ABSENT";
  Blob bytes = bytes_of(data / "audio/librispeech/237/134500/237-134500-0001.flac");
  bytes[21] |= 0x0f;  // upper bits of STREAMINFO's 36-bit number of samples: 64 thousand million
  EXPECT_EQ(decoded(bytes).status().code(), Code::kUnsupported);
  const Status counted = decoded(bytes, {{"max_samples", int64_t{1} << 40}}, {.grant = 8 << 20}).status();
  EXPECT_EQ(counted.code(), Code::kCorrupt) << counted.to_string();
}

TEST(DecodeAudio, errors_name_the_operator_and_the_sample) {
  const Status status = decoded({'R', 'I', 'F', 'F'}, Json::object(), {.key = {.id = 5}}).status();
  EXPECT_EQ(status.op(), "decode_audio");
  EXPECT_EQ(status.sample(), 5);
}

TEST(DecodeAudio, problems_are_told_with_a_way_out) {
  const auto first = [](Schema schema, Json args = Json::object()) {
    const auto problems = problems_of(std::move(schema), {step("decode_audio", std::move(args))});
    return problems.empty() ? std::string() : problems[0].message + ": " + problems[0].remedy;
  };
  EXPECT_NE(first(stored("sound")).find("name the field: .decode_audio(field=...)"), std::string::npos);
  EXPECT_NE(first(Schema({sound_field()})).find("decoded already"), std::string::npos);
  EXPECT_NE(first(stored(), {{"rate", 0}}).find("rate is 0"), std::string::npos);
  EXPECT_NE(first(stored(), {{"channels", 0}}).find("channels is 0"), std::string::npos);
  EXPECT_NE(first(Schema({bytes_field("bytes"), tensor_field("audio_rate", DType::kInt64, {})})).find("give rate="),
            std::string::npos);
}

}  // namespace
}  // namespace forebay
