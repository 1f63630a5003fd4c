#include "loader/samples/chosen_samples.h"

#include <utility>

#include "base/chunk_source.h"
#include "base/hash.h"
#include "loader/compile/bucket_step.h"
#include "loader/compile/ordering.h"
#include "loader/compile/packing_step.h"
#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/batch_rules.h"
#include "pipeline/catalog.h"

namespace forebay {

Result<ChosenSamples> choose_samples(const CompileInput& whole, const SizingInput& sizes,
                                     const PassCallbacks& callbacks) {
  const Description& description = *whole.description;
  ChosenSamples chosen{.selection = select_all(*whole.source)};
  Hasher hasher;
  for (size_t i = 1; i < description.steps().size(); ++i) {
    const OpSpec& step = description.steps()[i];
    chosen.selection = choose_unread(step, whole.source.get(), chosen.selection);
    if (!catalog().has_effect(step, OpEffect::kSelection)) continue;
    // Without open_cache, since the results of this pass are not cached.
    CompileInput input{&description, i, /*as_filter=*/true, whole.source, chosen.selection, whole.seed};
    input.numbers = whole.numbers;
    if (whole.branch) input.branch = CompileInput::BranchName{whole.branch->name};
    FOREBAY_ASSIGN(std::shared_ptr<const MarkedSamples> kept, run_filter(input, sizes, callbacks));
    const Hash128 version = kept->version();
    // The version leaves out choices without a pass: they follow from the description and the
    // version of the data set, which a state has anyway.
    hasher.update_value(version.high);
    hasher.update_value(version.low);
    chosen.selection = kept;
  }
  chosen.version = hasher.digest().to_string();
  return chosen;
}

Status pack_samples(const CompileInput& whole, const SizingInput& sizes, const PassCallbacks& callbacks,
                    ChosenSamples* chosen) {
  const OpSpec* const pack = find_step(*whole.description, OpEffect::kPacking);
  if (pack == nullptr) return {};
  FOREBAY_ASSIGN(SequenceSizes rows, measure_rows(whole, sizes, callbacks));
  Hasher hasher;
  for (const std::vector<uint32_t>& costs : rows.costs)
    for (const uint32_t cost : costs) hasher.update_value(cost);
  const std::string costs = rows.costs.empty() ? "" : hasher.digest().to_string();
  chosen->version += costs;
  FOREBAY_ASSIGN(rows, packed_sizes(*pack, std::move(rows), *whole.source, *chosen->selection));
  if (packs_each_epoch(*pack)) {
    chosen->sizes = std::make_shared<const SequenceSizes>(std::move(rows));
    chosen->sequences = sequences_of(*pack, chosen->sizes);
    chosen->version += version_of(chosen->sizes->lengths);
    return {};
  }
  FOREBAY_ASSIGN(chosen->packing, pack_rows(*pack, std::move(rows), *whole.source, *chosen->selection));
  chosen->sequences = sequences_of(*pack, chosen->packing);
  chosen->version += version_of(*chosen->packing);
  return {};
}

Status measure_samples(const CompileInput& whole, const SizingInput& sizes, const PassCallbacks& callbacks,
                       ChosenSamples* chosen) {
  if (measuring_step(*whole.description) == nullptr) return {};
  FOREBAY_ASSIGN(std::vector<float> lengths, measure_field(whole, sizes, callbacks));
  Hasher hasher;
  for (const float length : lengths) hasher.update_value(length);
  chosen->lengths = std::make_shared<const std::vector<float>>(std::move(lengths));
  chosen->version += hasher.digest().to_string();
  return {};
}

}  // namespace forebay
