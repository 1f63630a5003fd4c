#include "loader/samples/lengths_in_index.h"

#include <algorithm>
#include <vector>

#include "loader/describe/check.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

// The name that a field had before a step that gives names. Nothing if the step made it of none.
std::optional<std::string> name_before(const FieldUse& names, const std::string& name) {
  for (size_t i = 0; i < names.makes.size() && i < names.reads.size(); ++i)
    if (names.makes[i] == name) return names.reads[i];
  if (std::ranges::find(names.reads, name) != names.reads.end()) return std::nullopt;
  return name;
}

}  // namespace

std::optional<std::string> name_in_source(const CompileInput& input, size_t step, std::string name) {
  const Inference inference = infer(*input.description, input.source->schema(), catalog(), Rules::kFields);
  for (size_t i = step; i-- > 1;) {
    const OpSpec& op = input.description->steps()[i];
    const OpDef& def = *catalog().find(op.name);
    const FieldUse use = def.used(op, inference.schemas[i - 1]);
    if (def.role == OpRole::kFunction) return std::nullopt;  // it may give any fields
    if (def.role == OpRole::kNames) {
      const std::optional<std::string> before = name_before(use, name);
      if (!before) return std::nullopt;
      name = *before;
    } else if (def.role == OpRole::kValues && def.sizes != SizeEffect::kSame &&
               std::ranges::find(use.makes, name) != use.makes.end()) {
      return std::nullopt;
    }
  }
  return name;
}

std::optional<LengthsInIndex> LengthsInIndex::find(const CompileInput& input, size_t step, const std::string& field) {
  const std::optional<std::string> name = name_in_source(input, step, field);
  const Schema& schema = input.source->schema();
  const std::optional<size_t> index = name ? schema.find(*name) : std::nullopt;
  if (!index || schema[*index].kind != FieldKind::kTensor || schema[*index].shape.rank() == 0) return std::nullopt;
  LengthsInIndex lengths;
  lengths.field_ = *index;
  lengths.same_ = schema[*index].shape[0];
  if (lengths.same_ != Shape::kUnknown) return lengths;
  lengths.known_ = known_lengths(*input.source);
  if (lengths.known_ == nullptr || !lengths.known_->knows_lengths(*index)) return std::nullopt;
  return lengths;
}

}  // namespace forebay
