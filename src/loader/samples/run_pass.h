#pragma once

#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "forebay/batch.h"
#include "loader/compile/compile.h"
#include "loader/compile/sizing.h"
#include "pipeline/run/runner.h"

namespace forebay {

/// Callbacks of a pass over all samples before the first epoch.
struct PassCallbacks {
  /// Called with the runner of the pass before it starts, so that user code finds its calls and
  /// close() can stop it. Called with null when the pass is over.
  std::function<Status(std::shared_ptr<Runner>)> on_runner;
  /// Called with every sample that is bad. A returned error ends the pass; with OK, the sample is
  /// left out.
  std::function<Status(const RowError&)> on_bad_sample;
  /// Ends waits in which there is no runner.
  std::stop_token stop = {};
};

/// Reads all samples of the selection in the order of their ids, and calls `each` with the batches.
/// `step`: the one that needs them, as messages name it. `ragged`: fields whose rows differ in
/// length.
Status run_pass(const CompileInput& input, std::string step, const SizingInput& sizes, std::set<std::string> ragged,
                const PassCallbacks& callbacks, const std::function<Status(const Batch&)>& each);

}  // namespace forebay
