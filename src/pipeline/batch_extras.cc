#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pipeline/batch_job.h"

// Extra fields of a batch: those that user code returns and the plan does not know. All rows of a
// batch must have the same ones.

namespace forebay {

namespace {

// Returns the name of a field that `one` has and `other` lacks.
std::string only_in(const Extras& one, const Extras& other) {
  for (const auto& [name, value] : one) {
    if (std::none_of(other.begin(), other.end(), [&](const auto& entry) { return entry.first == name; })) return name;
  }
  return "";
}

// Returns the name of a field that only one of the two has. Their fields must differ.
std::string only_in_one(const Extras& one, const Extras& other) {
  std::string name = only_in(one, other);
  return name.empty() ? only_in(other, one) : name;
}

// `here` is the first sample whose fields differ from those of the first sample.
Status differing_fields_error(const SampleName& here, std::string_view difference) {
  return invalid_argument(fmt::format("the user's function gave {}; give the same fields for every sample", difference))
      .with_key(here.key)
      .with_sample(here.id);
}

}  // namespace

void BatchJob::plan_extras(BatchAssembly& assembly) const {
  std::vector<const Extras*> rows;
  for (size_t row = 0; row < values_.extras().size(); ++row) {
    if (!rows_[row].skipped) rows.push_back(&values_.extras()[row]);
  }
  if (rows.empty()) return;
  // The loop below visits the fields of the first sample, so it finds no difference if that sample
  // has none.
  for (size_t i = 1; i < rows.size() && rows.front()->empty(); ++i) {
    if (rows[i]->empty()) continue;
    const SampleName before = name_of_remaining(0);
    return assembly.fail(differing_fields_error(name_of_remaining(i),
                                                fmt::format("'{}' here and not for sample {} ('{}') of the same batch",
                                                            rows[i]->front().first, before.id, before.key)));
  }
  for (const auto& [name, first] : *rows.front()) {
    std::vector<const Value*> values;
    for (const Extras* extras : rows) {
      auto found = std::find_if(extras->begin(), extras->end(), [&](const auto& entry) { return entry.first == name; });
      if (found == extras->end() || extras->size() != rows.front()->size()) {
        const SampleName before = name_of_remaining(0);
        const std::string differing = found == extras->end() ? name : only_in_one(*extras, *rows.front());
        return assembly.fail(differing_fields_error(
            name_of_remaining(values.size()),
            fmt::format("other fields here than for sample {} ('{}') of the same batch: '{}' is in one of them only",
                        before.id, before.key, differing)));
      }
      values.push_back(&found->second);
    }
    Field any;
    any.name = name;
    any.kind = FieldKind::kAny;
    assembly.add(plan_values(any, values));
  }
}

}  // namespace forebay
