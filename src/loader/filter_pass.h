#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "loader/compile.h"
#include "loader/selection.h"
#include "loader/sizing.h"

namespace forebay {

/// Asks a pipeline's filter about every sample that got so far, in a pass of its own that reads only the fields the filter
/// looks at. `running` is told of the pass's runner before it starts (so that user code finds its calls and close() can stop
/// it) and with null when it is over. `told` gets every sample that is bad in itself: its error ends the pass, or, where it returns OK,
/// the sample is left out.
Result<std::shared_ptr<const KeptSamples>> run_filter(const CompileInput& input, const SizingInput& sizes,
                                                      const std::function<Status(std::shared_ptr<Runner>)>& running,
                                                      const std::function<Status(const RowError&)>& told);

}  // namespace forebay
