#include "ops/stacked_fields.h"

#include <fmt/format.h>

#include "pipeline/field_rows.h"

namespace forebay {
namespace {

// Rows that differ only in their first axis become (values, offsets), or are padded.
bool can_be_stacked(const Field& field) {
  return field.kind != FieldKind::kTensor || field.shape.fully_known() || may_be_ragged(field);
}

const char* shape_remedy(const Field& field) {
  if (field.image) return "put .resize(size), .center_crop or .random_resized_crop before .batch";
  const bool channels = field.shape.rank() > 1 && field.shape[0] == Shape::kUnknown;
  if (field.sound != SoundForm::kNone && channels)
    return "give .decode_audio(mono=True), or the number of channels, and put .pad_or_crop(seconds) behind it";
  if (field.sound == SoundForm::kSpectra) return "put .pad_or_crop(seconds) before what makes spectra of the samples";
  if (field.sound == SoundForm::kSamples) return "put .pad_or_crop(seconds) before .batch";
  return "give it one shape in .map, or use .batch(1)";
}

}  // namespace

void check_stacked(const Schema& schema, Problems& problems) {
  for (const Field& field : schema) {
    if (can_be_stacked(field)) continue;
    problems.add(fmt::format("samples of the field '{}' may differ in shape, {}, and a batch needs one", field.name,
                             field.shape.to_string()),
                 shape_remedy(field));
  }
}

void check_ragged(const Args& args, const Schema& schema, Problems& problems) {
  for (const std::string& name : args.has("ragged") ? args.names("ragged") : std::vector<std::string>()) {
    const auto index = schema.find(name);
    if (!index && !schema.open_ended) {
      problems.add(fmt::format("ragged: there is no field '{}'", name),
                   fmt::format("the fields here are: {}", schema.names()));
    } else if (index && schema[*index].kind != FieldKind::kAny) {
      problems.add(fmt::format("ragged: of the field {} it is known how its rows lie", schema[*index].to_string()),
                   "name fields that user code makes");
    }
  }
}

ArgDef ragged_arg() {
  return {"ragged",
          ArgType::kFields,
          false,
          nullptr,
          "fields that a Dataset or `.map` makes, of rows that differ in length: `(values, offsets)` in every batch",
          ArgForm::kNamed};
}

std::vector<std::string> ragged_fields(const OpSpec& spec) {
  const auto ragged = spec.args.find("ragged");
  return ragged == spec.args.end() ? std::vector<std::string>() : field_list(*ragged);
}

}  // namespace forebay
