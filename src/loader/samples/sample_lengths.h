#pragma once

#include <vector>

#include "forebay/batch.h"
#include "forebay/status.h"

namespace forebay {

/// What a row of a field tells of its sample: a number, or the length of rows, text, bytes or lists.
/// Negative, or not a number, if the field is neither.
double told_by(const BatchField& field, int64_t row);
/// A length as it is kept: 0 becomes 1, others are rounded up to a float.
float kept_length(double length);

/// Sets the lengths of the samples in a batch of a pass, by position. The only field of the batch
/// tells them: numbers, or rows, text, bytes and lists whose own length counts. A length of 0
/// becomes 1; others are rounded up to a float. InvalidArgument, with the sample, for a field that
/// is neither, and for negative and not finite numbers.
Status add_lengths(const Batch& batch, std::vector<float>& lengths);

}  // namespace forebay
