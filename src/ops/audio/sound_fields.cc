#include "ops/audio/sound_fields.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace forebay {
namespace {

bool check_sound_kind(const Field& field, std::string_view op, Problems& problems) {
  if (field.kind == FieldKind::kAny) return true;
  if (field.kind == FieldKind::kTensor && !(field.dtype == DType::kUint8 && field.shape.rank() == 1)) return true;
  if (field.kind == FieldKind::kText || field.string_list()) {
    problems.add(fmt::format("the field '{}' is {}, not sound", field.name, field.type_word()),
                 "name a field that holds sound");
  } else {
    const bool by_default = field.name == "audio" || field.name == "bytes";
    problems.add(
        fmt::format("the field '{}' is still encoded", field.name),
        fmt::format("put .decode_audio({}) before .{}", by_default ? "" : fmt::format("field=\"{}\"", field.name), op));
  }
  return false;
}

bool check_sound_tensor(const Field& field, std::string_view op, bool spectra, Problems& problems) {
  if (field.kind == FieldKind::kAny) return true;
  if (field.dtype != DType::kFloat32) {
    problems.add(fmt::format("{} works on float32, and the field '{}' is {}", op, field.name, dtype_name(field.dtype)),
                 fmt::format("put .cast(\"float32\", field=\"{}\") before", field.name));
    return false;
  }
  if (field.sound == SoundForm::kSpectra && !spectra) {
    problems.add(fmt::format("the field '{}' holds spectra, no samples any more", field.name),
                 fmt::format("put .{} before what made spectra of the samples", op));
    return false;
  }
  const size_t rank = field.shape.rank();
  if (rank >= 1 && rank <= (spectra ? 3 : 2)) return true;
  problems.add(fmt::format("the field '{}' is no sound: its shape is {}", field.name, field.shape.to_string()),
               "sound is (samples,) or (channels, samples)");
  return false;
}

bool check_single(const Field& field, const Schema& schema, std::string_view op, Problems& problems) {
  if (field.sound != SoundForm::kRecordings && !lengths_of(field, schema)) return true;
  problems.add(fmt::format("each sample of the field '{}' has a list of recordings, one after the other", field.name),
               fmt::format("put .pad_or_crop(seconds, field=\"{}\") before .{}", field.name, op));
  return false;
}

}  // namespace

void check_lengths_field(const Field& field, const Schema& schema, Problems& problems) {
  if (field.sound != SoundForm::kRecordings || lengths_of(field, schema)) return;
  problems.add(fmt::format("each sample of the field '{}' has a list of recordings, and there is no field '{}' with "
                           "the length of each",
                           field.name, lengths_field(field.name)),
               "name both fields in .select, and rename both");
}

std::string lengths_field(const std::string& name) { return name + ".lengths"; }

std::optional<size_t> lengths_of(const Field& field, const Schema& schema) {
  const bool is_row = field.kind == FieldKind::kTensor && field.shape.rank() == 1;
  return is_row ? schema.find(lengths_field(field.name)) : std::nullopt;
}

ArgDef sound_field_arg(std::string help) {
  return {"field", ArgType::kFields, false, "audio", std::move(help), ArgForm::kNamed};
}

ArgDef sound_rate_arg() {
  return {"rate",
          ArgType::kInt,
          false,
          nullptr,
          "samples a second; may be left out behind `.decode_audio(rate=...)`",
          ArgForm::kNamed};
}

void check_rate(int64_t rate, Problems& problems) {
  if (rate < 1 || rate > kMaxRate)
    problems.add(fmt::format("rate is {}", rate), fmt::format("give samples a second, 1 to {}", kMaxRate));
}

std::vector<SoundField> sound_fields(const Args& args, const Schema& before) {
  std::vector<SoundField> fields;
  for (const std::string& name : args.names("field")) {
    const size_t index = *before.find(name);
    fields.push_back({index, name, lengths_of(before[index], before)});
  }
  return fields;
}

std::vector<size_t> check_sounds(const Args& args, std::string_view op, Schema& schema, Problems& problems,
                                 bool spectra, bool lists) {
  std::vector<size_t> found;
  for (const size_t index : check_fields(args.names("field"), schema, problems)) {
    const Field& field = schema[index];
    if (check_sound_kind(field, op, problems) && check_sound_tensor(field, op, spectra, problems) &&
        (lists || check_single(field, schema, op, problems)))
      found.push_back(index);
  }
  return found;
}

int64_t check_known_rate(const Args& args, std::span<const size_t> fields, const Schema& schema, Problems& problems) {
  const int64_t given = args.has("rate") ? args.integer("rate") : 0;
  if (args.has("rate")) check_rate(given, problems);
  for (const size_t index : fields) {
    const Field& field = schema[index];
    if (given == 0 && field.rate == 0) {
      problems.add(fmt::format("of the field '{}' it is not known how many samples a second has", field.name),
                   "give .decode_audio(rate=...), or rate= here where all recordings have that rate");
      return 0;
    }
    if (given > 0 && field.rate > 0 && given != field.rate) {
      problems.add(fmt::format("rate is {}, and the field '{}' has {} samples a second", given, field.name, field.rate),
                   fmt::format("leave rate out, or give .decode_audio(rate={})", given));
      return 0;
    }
  }
  return problems.any() || fields.empty() ? 0 : known_rate(args, schema);
}

int64_t known_rate(const Args& args, const Schema& schema) {
  if (args.has("rate")) return args.integer("rate");
  return schema[*schema.find(args.names("field").front())].rate;
}

Status check_sound_value(const Value& value, const std::string& name, size_t max_axes) {
  if (value.kind != FieldKind::kTensor) return unsupported(fmt::format("the field '{}' holds no sound", name));
  if (value.dtype() != DType::kFloat32) {
    return unsupported(fmt::format("the field '{}' is {}; sound is float32, put .cast(\"float32\") before", name,
                                   dtype_name(value.dtype())));
  }
  const Shape shape = value.shape();
  if (shape.rank() >= 1 && shape.rank() <= max_axes) return {};
  return unsupported(fmt::format("the field '{}' is no sound: its shape is {}", name, shape.to_string()));
}

void check_range(const Args& args, std::string_view name, Problems& problems) {
  const std::vector<double> ends = args.numbers(name);
  const bool finite =
      std::all_of(ends.begin(), ends.end(), [](double x) { return std::isfinite(x) && std::abs(x) <= 200; });
  if (ends.empty() || ends.size() > 2 || !finite || ends.front() > ends.back()) {
    problems.add(fmt::format("{} is {}", name, json_text(args.json(name))), "give one number, or low and high");
  }
}

NumberRange range_of(const Args& args, std::string_view name, bool around_zero) {
  const std::vector<double> ends = args.numbers(name);
  if (ends.size() == 1 && around_zero) return {-std::abs(ends[0]), std::abs(ends[0])};
  return {ends.front(), ends.back()};
}

void check_probability(const Args& args, Problems& problems) {
  const double p = args.number("p");
  if (!(p >= 0 && p <= 1)) problems.add(fmt::format("p is {}", p), "give a probability from 0 to 1");
}

}  // namespace forebay
