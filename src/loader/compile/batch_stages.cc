#include "loader/compile/batch_stages.h"

#include <algorithm>

#include "loader/describe/check.h"
#include "loader/describe/step_arguments.h"
#include "loader/describe/user_code.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

// Random numbers of batches never meet those of samples, which count their steps from 0.
constexpr uint32_t kFirstRandomIndex = uint32_t{1} << 31;

}  // namespace

std::vector<BatchStage> batch_stages(const Description& description, uint64_t seed) {
  std::vector<BatchStage> stages;
  uint32_t random_index = kFirstRandomIndex;
  const std::vector<OpSpec>& steps = description.steps();
  // The steps behind a source are the last ones of the whole pipeline, also behind parts.
  const size_t before = description.step_count() - steps.size();
  const size_t batched = sample_steps(description);
  for (size_t i = std::min(first_block_step(description), batched); i < steps.size(); ++i) {
    const bool of_block = i < batched;
    if (of_block && !catalog().has_role(steps[i], OpRole::kFunction)) continue;
    BatchStage stage;
    stage.name = name_of_function(steps[i]);
    stage.number = before + i;
    stage.seed = seed;
    stage.random_index = random_index;
    if (catalog().has_effect(steps[i], OpEffect::kCollation)) stage.input = BatchInput::kSamples;
    if (of_block) {
      stage.input = BatchInput::kRows;
      stage.fields = catalog().find(steps[i].name)->used(steps[i], {}).reads;
    }
    random_index += is_random_step(steps[i], catalog()) ? 1 : 0;
    stages.push_back(std::move(stage));
  }
  return stages;
}

}  // namespace forebay
