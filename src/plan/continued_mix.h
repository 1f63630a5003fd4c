#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/node.h"

namespace forebay {

/// A mix that goes on where another one was: `drawn` are the draws that each child has made before
/// its first stage, which may begin anywhere. It needs options.samples. Its draws are those of a mix
/// with stages before that one by which the children have made as many.
///
/// It knows nothing of positions before its first stage. Nobody may ask for draws there; next_draw()
/// takes an earlier position for the beginning of that stage, and the position of an earlier draw is
/// {0, 0}.
///
/// InvalidArgument as for mix_node(), and for `drawn` that are not one for each child, negative, or
/// 2^61 or more.
Result<std::unique_ptr<PlanNode>> continued_mix_node(std::vector<std::unique_ptr<PlanNode>> children,
                                                     const MixOptions& options, const std::vector<int64_t>& drawn);

}  // namespace forebay
