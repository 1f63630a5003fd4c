#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pipeline/description.h"
#include "pipeline/execution_plan.h"

namespace forebay {

struct CompileInput {
  const Description* description = nullptr;
  /// Steps [0, end) take part; a filter at `end`, if it is one, becomes the last stage and its answer the only output.
  size_t end = 0;
  bool as_filter = false;
  std::shared_ptr<const Source> source;
  std::shared_ptr<const Selection> selection;
  uint64_t seed = 0;
  /// Opens the cache of the description's `.cache()` at `step`, for what is identified by `place`. Empty: nothing is kept.
  /// An entry has `least_bytes` at least.
  std::function<Result<std::shared_ptr<EntryCache>>(size_t step, const Hash128& place, uint64_t least_bytes)>
      open_cache = {};
  /// Where a `.rehearse(where="here")` keeps what came of samples, and by which keys. Null: nowhere, and it is made again.
  struct Replayed {
    std::shared_ptr<EntryCache> cache = {};
    std::shared_ptr<const StageKeys> keys = {};
  };
  Replayed replayed = {};
  /// Of the description's `.pack()`. Null where there is none, or lengths are not known yet: then rows come one by one, as long as they are.
  std::shared_ptr<const Packing> packing = {};
};

/// From what the user said, which check() found nothing wrong with, to what the runner runs. Steps whose results nobody looks at are
/// left out, and with them the reads they would need; random numbers of the others do not change by that. What is left is checked
/// again: Internal, with both descriptions, where it is not right in itself or gives other fields.
Result<std::shared_ptr<const ExecutionPlan>> compile(const CompileInput& input);

}  // namespace forebay
