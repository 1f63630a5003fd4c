#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/definition/args.h"

// Functions shared by operators on sound: the arguments `field` and `rate`, and checks of fields.

namespace forebay {

/// Largest sample rate that may be requested.
constexpr int64_t kMaxRate = 768'000;

/// "audio" by default.
ArgDef sound_field_arg(std::string help = "a field that holds sound, or a list of them");
/// The rate of the samples, needed if no earlier step converted all sounds to one rate.
ArgDef sound_rate_arg();
/// Adds a problem unless the rate is 1 to kMaxRate.
void check_rate(int64_t rate, Problems& problems);

/// A field that an operator works on.
struct SoundField {
  size_t index = 0;
  std::string name;
  /// The field with the lengths of its recordings, if each sample has a list of them.
  std::optional<size_t> lengths = {};
};
/// The name of the field that says how many samples each recording of a list has. They lie one after
/// the other, as the elements of nested lists in tables.
std::string lengths_field(const std::string& name);
/// That field of a list of recordings, which have no common length yet; otherwise nothing.
std::optional<size_t> lengths_of(const Field& field, const Schema& schema);
/// Adds a problem if a list of recordings lacks that field.
void check_lengths_field(const Field& field, const Schema& schema, Problems& problems);

std::vector<SoundField> sound_fields(const Args& args, const Schema& before);

/// Returns the schema indices of the fields that `field` names and that hold samples: float32,
/// (samples,) or (channels, samples). Adds a problem for each field that is missing, still encoded,
/// or of another kind. With `spectra` it accepts spectra of samples as well, with `lists` lists of
/// recordings.
std::vector<size_t> check_sounds(const Args& args, std::string_view op, Schema& schema, Problems& problems,
                                 bool spectra = false, bool lists = false);
/// The rate of these fields, from `rate` or from the step that decoded them. Adds a problem and
/// returns 0 if neither gives it or the two differ.
int64_t check_known_rate(const Args& args, std::span<const size_t> fields, const Schema& schema, Problems& problems);
/// The same for arguments that have no problem.
int64_t known_rate(const Args& args, const Schema& schema);

/// Checks that an operator on sound can process the value: float32 with 1 to `max_axes` axes.
/// Otherwise returns Unsupported with the field's name.
Status check_sound_value(const Value& value, const std::string& name, size_t max_axes = 2);

/// Adds a problem unless the argument is a number, or the two ends of a range, from -200 to 200.
void check_range(const Args& args, std::string_view name, Problems& problems);
struct NumberRange {
  double low = 0, high = 0;
};
/// The range of an argument. One number x stands for x to x, or with `around_zero` for -x to x.
NumberRange range_of(const Args& args, std::string_view name, bool around_zero = false);
/// Adds a problem unless p is a probability.
void check_probability(const Args& args, Problems& problems);

}  // namespace forebay
