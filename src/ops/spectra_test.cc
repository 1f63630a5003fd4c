// mel_spectrogram and mfcc as operators: known shapes, arguments and messages.
#include "ops/sound_test_support.h"

namespace forebay {
namespace {

using namespace ops_test;

std::string first_problem(Field field, const OpSpec& spec) {
  const auto problems = problems_of(Schema({std::move(field)}), {spec});
  return problems.empty() ? std::string() : problems[0].message + ": " + problems[0].remedy;
}

TEST(Spectra, the_shape_is_known_as_far_as_the_sounds_is) {
  const auto after = [](Shape shape, const OpSpec& spec) {
    return schema_after(Schema({sound_field(16000, shape)}), {spec})[0].shape;
  };
  EXPECT_EQ(after({Shape::kUnknown}, step("mel_spectrogram")), (Shape{128, Shape::kUnknown}));
  EXPECT_EQ(after({16000}, step("mel_spectrogram", {{"n_mels", 64}, {"hop_length", 160}})), (Shape{64, 101}));
  EXPECT_EQ(after({2, 16000}, step("mfcc", {{"n_mfcc", 13}})), (Shape{2, 13, 81}));
}

TEST(Spectra, what_comes_out_has_the_shape_that_was_said) {
  for (const int64_t channels : {0, 2}) {
    const Tensor sound = sound_tensor(made_sound(4000), channels);
    for (const char* name : {"mel_spectrogram", "mfcc"}) {
      const Schema after = schema_after(Schema({sound_field(16000, sound.shape)}), {step(name)});
      const SoundResult made = run_sound(sound_field(16000, sound.shape), sound, {step(name)});
      ASSERT_TRUE(made.status.ok()) << made.status.to_string();
      EXPECT_EQ(made.tensor.shape, after[0].shape) << name;
    }
  }
}

TEST(Spectra, each_channel_is_as_if_it_were_alone) {
  const std::vector<float> left = made_sound(3000), right = made_sound(3000, 8000);
  std::vector<float> both = left;
  both.insert(both.end(), right.begin(), right.end());
  const OpSpec mel = step("mel_spectrogram", {{"log", "db"}});
  const auto alone = [&](const std::vector<float>& one) {
    return floats(run_sound(sound_field(), sound_tensor(one), {mel}).tensor);
  };
  std::vector<float> expected = alone(left);
  const std::vector<float> second = alone(right);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(floats(run_sound(sound_field(16000, {2, 3000}), sound_tensor(both, 2), {mel}).tensor), expected);
}

TEST(Spectra, a_sound_that_is_too_short_is_unsupported_and_says_what_helps) {
  const SoundResult made = run_sound(sound_field(), sound_tensor(made_sound(150)), {step("mel_spectrogram")});
  EXPECT_EQ(made.status.code(), Code::kUnsupported);
  EXPECT_NE(made.status.to_string().find(
                "mel_spectrogram: 150 samples are too short for frames of n_fft=400; put .pad_or_crop"),
            std::string::npos)
      << made.status.to_string();
  EXPECT_TRUE(
      run_sound(sound_field(), sound_tensor(made_sound(0)), {step("mel_spectrogram", {{"pad_mode", "constant"}})})
          .status.ok());
}

TEST(Spectra, memory_is_reserved_first) {
  const SoundResult made = run_sound(sound_field(), sound_tensor(made_sound(100'000)), {step("mfcc")}, {.grant = 1000});
  EXPECT_EQ(made.status.code(), Code::kOutOfBudget);
}

TEST(Spectra, arguments_that_make_no_sense_are_told) {
  const auto problem = [](const char* name, Json args) {
    return first_problem(sound_field(), step(name, std::move(args)));
  };
  EXPECT_NE(problem("mel_spectrogram", {{"n_fft", 1}}).find("n_fft is 1"), std::string::npos);
  EXPECT_NE(problem("mel_spectrogram", {{"win_length", 401}}).find("give 1 to 400"), std::string::npos);
  EXPECT_NE(problem("mel_spectrogram", {{"f_max", 9000}}).find("f_max <= 8000"), std::string::npos);
  EXPECT_NE(problem("mel_spectrogram", {{"mel_scale", "bark"}}).find("give \"htk\" or \"slaney\""), std::string::npos);
  EXPECT_NE(problem("mel_spectrogram", {{"power", 3}}).find("power is 3"), std::string::npos);
  EXPECT_NE(problem("mel_spectrogram", {{"log", "e"}}).find("unknown log"), std::string::npos);
  EXPECT_NE(problem("mfcc", {{"n_mfcc", 129}}).find("not more than n_mels"), std::string::npos);
}

TEST(Spectra, the_rate_must_be_known_and_is_said_once) {
  EXPECT_NE(first_problem(sound_field(0), step("mel_spectrogram")).find("give .decode_audio(rate=...)"),
            std::string::npos);
  EXPECT_EQ(first_problem(sound_field(0), step("mel_spectrogram", {{"rate", 8000}})), "");
  EXPECT_NE(first_problem(sound_field(16000), step("mel_spectrogram", {{"rate", 8000}})).find("16000 samples a second"),
            std::string::npos);
}

TEST(Spectra, fields_that_hold_no_samples_are_told) {
  EXPECT_NE(first_problem(bytes_field("audio"), step("mel_spectrogram")).find("put .decode_audio() before"),
            std::string::npos);
  EXPECT_NE(first_problem(spectra_field(), step("mel_spectrogram")).find("holds spectra"), std::string::npos);
  EXPECT_NE(first_problem(tensor_field("audio", DType::kInt16, {100}), step("mfcc")).find(".cast(\"float32\""),
            std::string::npos);
  Field any = sound_field();
  any.kind = FieldKind::kAny;
  any.rate = 0;
  EXPECT_EQ(first_problem(any, step("mfcc", {{"rate", 8000}})), "");
}

TEST(Spectra, the_bytes_are_golden) {
  // The bytes are the same on every processor; changing them changes users' results.
  const SoundResult made =
      run_sound(sound_field(), sound_tensor(made_sound(1600)), {step("mfcc", {{"n_mfcc", 2}, {"hop_length", 800}})});
  ASSERT_TRUE(made.status.ok());
  uint64_t hash = 14695981039346656037u;
  for (const uint8_t byte : blob(made.tensor)) hash = (hash ^ byte) * 1099511628211u;
  EXPECT_EQ(hash, 10294685103705465026u);
}

}  // namespace
}  // namespace forebay
