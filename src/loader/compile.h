#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pipeline/catalog.h"
#include "pipeline/execution_plan.h"

namespace forebay {

/// All operators Forebay has.
const Catalog& catalog();

/// What the source of a description gives, without touching storage. A source that cannot be judged without (arrays in files,
/// manifests) is open-ended; so is user code.
Schema announced_schema(const OpSpec& source);
/// The description's problems, with those of its source.
std::vector<Problem> check(const Description& description);
/// The same with the schema that the opened source really has.
std::vector<Problem> check(const Description& description, const Schema& source);
/// InvalidArgument that lists them.
Status problems_as_status(const std::vector<Problem>& problems);

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
};

/// From what the user said to what the runner runs. Steps whose results nobody looks at are left out, and with them the reads
/// they would need; random numbers of the others do not change by that.
Result<std::shared_ptr<const ExecutionPlan>> compile(const CompileInput& input);

}  // namespace forebay
