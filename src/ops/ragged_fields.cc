#include "ops/ragged_fields.h"

#include <fmt/format.h>

namespace forebay {
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
