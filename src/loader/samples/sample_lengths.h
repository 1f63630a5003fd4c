#pragma once

#include <vector>

#include "forebay/batch.h"
#include "forebay/status.h"

namespace forebay {

/// Sets the lengths of the samples in a batch of a pass, by position. The only field of the batch
/// tells them: numbers, or rows, text, bytes and lists whose own length counts. A length of 0
/// becomes 1; others are rounded up to a float. InvalidArgument, with the sample, for a field that
/// is neither, and for negative and not finite numbers.
Status add_lengths(const Batch& batch, std::vector<float>& lengths);

}  // namespace forebay
