// pad_or_crop, random_gain, add_noise and spec_augment: results, draws and errors.
#include <algorithm>
#include <cmath>
#include <set>

#include "ops/sound_test_support.h"

namespace forebay {
namespace {

using namespace ops_test;

std::vector<float> changed(const std::vector<float>& samples, const OpSpec& spec, int64_t id = 0) {
  const SoundResult made = run_sound(sound_field(), sound_tensor(samples), {spec}, {.key = {.seed = 7, .id = id}});
  EXPECT_TRUE(made.status.ok()) << made.status.to_string();
  return made.status.ok() ? floats(made.tensor) : std::vector<float>();
}

std::string told(Field field, const OpSpec& spec) {
  const auto problems = problems_of(Schema({std::move(field)}), {spec});
  return problems.empty() ? std::string() : problems[0].message + ": " + problems[0].remedy;
}

double energy(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

TEST(PadOrCrop, makes_one_length_of_all) {
  const std::vector<float> sound = made_sound(100);
  const OpSpec spec = step("pad_or_crop", {{"seconds", 0.004}});  // 64 samples
  EXPECT_EQ(schema_after(Schema({sound_field()}), {spec})[0].shape, (Shape{64}));
  EXPECT_EQ(changed(sound, spec), std::vector<float>(sound.begin(), sound.begin() + 64));
  std::vector<float> padded(sound.begin(), sound.begin() + 10);
  padded.resize(64);
  EXPECT_EQ(changed({sound.begin(), sound.begin() + 10}, spec), padded);
  EXPECT_EQ(changed({}, spec), std::vector<float>(64));
  EXPECT_EQ(changed({sound.begin(), sound.begin() + 64}, spec), std::vector<float>(sound.begin(), sound.begin() + 64));
}

TEST(PadOrCrop, every_channel_is_cut_at_the_same_place) {
  std::vector<float> both(200);
  for (size_t i = 0; i < 200; ++i) both[i] = static_cast<float>(i);
  const OpSpec spec = step("pad_or_crop", {{"seconds", 0.004}, {"random", true}});
  const SoundResult made = run_sound(sound_field(16000, {2, 100}), sound_tensor(both, 2), {spec});
  const std::vector<float> cut = floats(made.tensor);
  ASSERT_EQ(made.tensor.shape, (Shape{2, 64}));
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(cut[i], cut[0] + static_cast<float>(i));
    EXPECT_EQ(cut[64 + i], cut[i] + 100);
  }
}

TEST(PadOrCrop, random_places_are_everywhere_and_follow_from_the_key) {
  std::vector<float> sound(70);
  for (size_t i = 0; i < 70; ++i) sound[i] = static_cast<float>(i);
  const OpSpec spec = step("pad_or_crop", {{"seconds", 0.004}, {"random", true}});
  std::set<float> begins;
  for (int64_t id = 0; id < 200; ++id) {
    begins.insert(changed(sound, spec, id)[0]);
    ASSERT_EQ(changed(sound, spec, id), changed(sound, spec, id));
  }
  EXPECT_EQ(begins, (std::set<float>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(PadOrCrop, needs_a_rate_and_a_length) {
  EXPECT_NE(
      told(sound_field(0), step("pad_or_crop", {{"seconds", 1}})).find("give .decode_audio(rate=...), or rate= here"),
      std::string::npos);
  EXPECT_NE(told(sound_field(), step("pad_or_crop", {{"seconds", 0}})).find("give a length"), std::string::npos);
  EXPECT_NE(told(sound_field(), step("pad_or_crop", {{"seconds", 1e9}})).find("give a length"), std::string::npos);
  EXPECT_NE(
      told(spectra_field(), step("pad_or_crop", {{"seconds", 1}, {"rate", 8000}})).find("before what made spectra"),
      std::string::npos);
  Field given = sound_field(0);
  EXPECT_EQ(schema_after(Schema({given}), {step("pad_or_crop", {{"seconds", 1}, {"rate", 8000}})})[0].rate, 8000);
}

TEST(RandomGain, multiplies_by_a_factor_between_the_two) {
  const std::vector<float> sound = made_sound(100);
  std::set<float> factors;
  for (int64_t id = 0; id < 100; ++id) {
    const std::vector<float> made = changed(sound, step("random_gain"), id);
    const float factor = made[3] / sound[3];
    for (size_t i = 0; i < 100; ++i) ASSERT_FLOAT_EQ(made[i], sound[i] * factor);
    ASSERT_TRUE(factor > 0.5 && factor < 2) << factor;
    factors.insert(factor);
  }
  EXPECT_GT(factors.size(), 90u);
  EXPECT_LT(*factors.begin(), 0.6);
  EXPECT_GT(*factors.rbegin(), 1.8);
}

TEST(RandomGain, leaves_alone_what_the_probability_spares) {
  const std::vector<float> sound = made_sound(10);
  EXPECT_EQ(changed(sound, step("random_gain", {{"p", 0}})), sound);
  int same = 0;
  for (int64_t id = 0; id < 400; ++id) same += changed(sound, step("random_gain", {{"p", 0.25}}), id) == sound ? 1 : 0;
  EXPECT_NEAR(same, 300, 45);
}

TEST(RandomGain, twenty_decibels_are_ten_times) {
  const std::vector<float> sound = made_sound(10), made = changed(sound, step("random_gain", {{"db", {20, 20}}}));
  for (size_t i = 0; i < 10; ++i) EXPECT_FLOAT_EQ(made[i], 10 * sound[i]);
}

TEST(AddNoise, has_the_ratio_that_was_asked_for) {
  const std::vector<float> sound = made_sound(5001);
  for (const double snr : {-5.0, 0.0, 20.0}) {
    std::vector<float> noise = changed(sound, step("add_noise", {{"snr", snr}}));
    for (size_t i = 0; i < noise.size(); ++i) noise[i] -= sound[i];
    EXPECT_NEAR(10 * std::log10(energy(sound) / energy(noise)), snr, 1e-3);
  }
}

TEST(AddNoise, silence_stays_silence_and_samples_differ) {
  EXPECT_EQ(changed(std::vector<float>(50), step("add_noise")), std::vector<float>(50));
  const std::vector<float> sound = made_sound(50);
  EXPECT_NE(changed(sound, step("add_noise"), 1), changed(sound, step("add_noise"), 2));
  EXPECT_EQ(changed(sound, step("add_noise"), 1), changed(sound, step("add_noise"), 1));
}

TEST(SpecAugment, masks_whole_frames_and_whole_bands_no_longer_than_said) {
  const int64_t rows = 40, frames = 120;
  Tensor ones = Tensor::allocate(DType::kFloat32, {rows, frames});
  std::fill_n(ones.data<float>(), rows * frames, 1.0f);
  std::set<int64_t> widths;
  for (int64_t id = 0; id < 100; ++id) {
    const OpSpec spec =
        step("spec_augment",
             {{"time_masks", 1}, {"freq_masks", 1}, {"time_mask_param", 20}, {"freq_mask_param", 10}, {"value", -7}});
    const SoundResult made = run_sound(spectra_field(ones.shape), ones, {spec}, {.key = {.seed = 1, .id = id}});
    ASSERT_TRUE(made.status.ok()) << made.status.to_string();
    const float* at = made.tensor.data<float>();
    int64_t dark_rows = 0, dark_frames = 0;
    for (int64_t r = 0; r < rows; ++r)
      dark_rows += std::all_of(at + r * frames, at + (r + 1) * frames, [](float x) { return x == -7; }) ? 1 : 0;
    for (int64_t f = 0; f < frames; ++f) {
      bool dark = true;
      for (int64_t r = 0; r < rows; ++r) dark = dark && at[r * frames + f] == -7;
      dark_frames += dark ? 1 : 0;
    }
    EXPECT_LT(dark_rows, 10);
    EXPECT_LT(dark_frames, 20);
    EXPECT_EQ(std::count(at, at + rows * frames, -7.0f),
              dark_rows * frames + dark_frames * rows - dark_rows * dark_frames);
    widths.insert(dark_frames);
  }
  EXPECT_GT(widths.size(), 12u);
}

TEST(SpecAugment, the_share_bounds_masks_of_short_spectra) {
  Tensor ones = Tensor::allocate(DType::kFloat32, {2, 10});
  std::fill_n(ones.data<float>(), 20, 1.0f);
  for (int64_t id = 0; id < 50; ++id) {
    const OpSpec spec = step("spec_augment", {{"time_masks", 1}, {"freq_masks", 0}, {"p", 0.5}});
    const SoundResult made = run_sound(spectra_field(ones.shape), ones, {spec}, {.key = {.id = id}});
    EXPECT_LE(std::count(made.tensor.data<float>(), made.tensor.data<float>() + 20, 0.0f), 2 * 5);
  }
}

TEST(SpecAugment, samples_are_refused) {
  EXPECT_NE(told(sound_field(), step("spec_augment")).find("put .mel_spectrogram() or .mfcc() before"),
            std::string::npos);
  EXPECT_NE(told(spectra_field(), step("spec_augment", {{"time_masks", -1}})).find("time_masks is -1"),
            std::string::npos);
}

// A later change by an operator must not affect values that others hold.
TEST(SoundChanges, the_sound_that_was_there_stays_as_it_was) {
  const std::vector<float> sound = made_sound(2000);
  const Tensor tensor = sound_tensor(sound);
  for (const char* name : {"random_gain", "add_noise"}) {
    ASSERT_TRUE(run_sound(sound_field(), tensor, {step(name)}).status.ok());
    EXPECT_EQ(floats(tensor), sound) << name;
  }
}

TEST(SoundChanges, computing_after_each_step_gives_the_same_bytes) {
  const Tensor tensor = sound_tensor(made_sound(9000));
  const std::vector<OpSpec> steps = {step("random_gain"), step("add_noise"),
                                     step("pad_or_crop", {{"seconds", 0.5}, {"random", true}}),
                                     step("mel_spectrogram", {{"log", "ln"}}), step("spec_augment")};
  const SoundResult once = run_sound(sound_field(), tensor, steps),
                    each = run_sound(sound_field(), tensor, steps, {.materialize_each = true});
  ASSERT_TRUE(once.status.ok()) << once.status.to_string();
  EXPECT_EQ(blob(once.tensor), blob(each.tensor));
}

TEST(SoundChanges, a_batch_says_what_is_missing_for_one_shape) {
  const auto batch = [](std::vector<OpSpec> steps, Field field) {
    steps.push_back(step("batch", {{"n", 4}}));
    const auto problems = problems_of_pipeline(Schema({std::move(field)}), steps);
    return problems.empty() ? std::string() : problems[0].remedy;
  };
  EXPECT_EQ(batch({}, sound_field()), "");  // ragged
  EXPECT_NE(batch({step("mel_spectrogram")}, sound_field()).find("put .pad_or_crop(seconds) before what makes spectra"),
            std::string::npos);
  EXPECT_NE(batch({}, sound_field(16000, {2, Shape::kUnknown})).find("put .pad_or_crop(seconds) before .batch"),
            std::string::npos);
  EXPECT_NE(batch({}, sound_field(16000, {Shape::kUnknown, Shape::kUnknown})).find("mono=True"), std::string::npos);
  EXPECT_EQ(batch({step("pad_or_crop", {{"seconds", 1}}), step("mel_spectrogram")}, sound_field()), "");
}

}  // namespace
}  // namespace forebay
