#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loader/compile/compile.h"
#include "loader/compile/sizing.h"
#include "loader/samples/sample_classes.h"
#include "pipeline/run/runner.h"
#include "pipeline/selection.h"

namespace forebay {

/// What a loader does while it looks at all samples before the first epoch.
struct PassWatch {
  /// Is told of the pass's runner before it starts (so that user code finds its calls and close() can stop it), and with null when it
  /// is over.
  std::function<Status(std::shared_ptr<Runner>)> running;
  /// Gets every sample that is bad in itself: its error ends the pass, or, where it returns OK, the sample is left out.
  std::function<Status(const RowError&)> told;
};

/// Asks a pipeline's filter about every sample that got so far, in a pass of its own that reads only the fields the filter
/// looks at.
Result<std::shared_ptr<const MarkedSamples>> run_filter(const CompileInput& input, const SizingInput& sizes,
                                                        const PassWatch& watch);

/// How long the row that a pipeline packs is in each sample, 0 for those left out: a pass that reads only that. Caches keep what it makes.
Result<std::vector<uint32_t>> measure_lengths(const CompileInput& input, const SizingInput& sizes,
                                              const PassWatch& watch);

/// What a field of the source says of each sample's class: a pass that reads only that. Damaged samples have a class of their own: they are told when it is
/// their turn.
Result<std::shared_ptr<const SampleClasses>> read_classes(const CompileInput& input, const std::string& field,
                                                          const SizingInput& sizes, const PassWatch& watch);

}  // namespace forebay
