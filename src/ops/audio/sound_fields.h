#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/args.h"

// What operators on sound share: the arguments `field` and `rate`, and what a field must hold.

namespace forebay {

/// Largest rate that is asked for.
constexpr int64_t kMaxRate = 768'000;

/// "audio" by default.
ArgDef sound_field_arg(std::string help = "a field that holds sound, or a list of them");
/// The rate of the samples, where no step before brought all to one.
ArgDef sound_rate_arg();
/// A problem where it is not 1 to kMaxRate.
void check_rate(int64_t rate, Problems& problems);

/// A field that an operator works on.
struct SoundField {
  size_t index = 0;
  std::string name;
};
std::vector<SoundField> sound_fields(const Args& args, const Schema& before);

/// The places of the fields that `field` names, as far as they hold samples: float32, (samples,) or (channels, samples); a problem for each
/// that is not there, still encoded, or something else. With `spectra`, what was made of samples will do as well.
std::vector<size_t> check_sounds(const Args& args, std::string_view op, Schema& schema, Problems& problems,
                                 bool spectra = false);
/// The rate of these fields, by `rate` or by the step that decoded them; 0, with a problem, where neither says it or both differ.
int64_t check_known_rate(const Args& args, std::span<const size_t> fields, const Schema& schema, Problems& problems);
/// The same where nothing is wrong.
int64_t known_rate(const Args& args, const Schema& schema);

/// A value that an operator on sound can work on: float32 with 1 to `most_axes` axes and at least one; Unsupported, with the field's name, where
/// it is not.
Status check_sound_value(const Value& value, const std::string& name, size_t most_axes = 2);

/// A number, or the two ends of a range. A problem where it is no range of numbers from -200 to 200.
void check_range(const Args& args, std::string_view name, Problems& problems);
struct NumberRange {
  double low = 0, high = 0;
};
/// One number x stands for x to x, or with `around_zero` for -x to x.
NumberRange range_of(const Args& args, std::string_view name, bool around_zero = false);
/// A problem where p is no probability.
void check_probability(const Args& args, Problems& problems);

}  // namespace forebay
