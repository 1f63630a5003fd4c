#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "telemetry/step_counters.h"

namespace forebay {

/// The input of a function on whole batches, which decides the form of its answer.
enum class BatchInput : uint8_t {
  kFields,   ///< the fields of the batch; it answers with fields
  kSamples,  ///< the samples one by one; it answers with an object, which is the batch
  kRows,     ///< each row alone; its answers for all rows become the fields
};

/// A call of user code outside the engine, per batch. Such stages run one after another when all
/// rows of a batch are done.
struct BatchStage {
  std::string name;
  size_t number = 0;  ///< of the step in the whole pipeline; it decides the function to call
  uint64_t seed = 0;
  uint32_t random_index = 0;
  BatchInput input = BatchInput::kFields;
  /// kRows: the fields that the function gets; its answer is added to the others. Empty: it gets
  /// all, and its answer replaces them.
  std::vector<std::string> fields = {};
  std::shared_ptr<StepCounters> counters = std::make_shared<StepCounters>();
};

}  // namespace forebay
