#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "pipeline/description.h"
#include "plan/bucketed_batches.h"

namespace forebay {

/// Returns the step that makes batches by the lengths of samples, a `.bucket()`; null if there is
/// none.
const OpSpec* measuring_step(const Description& description);
/// Returns the field that tells the lengths.
std::string measured_field(const OpSpec& bucket);

/// Returns the options of the step for samples of these lengths. `mixed_rows`: the rows that are in
/// memory together, of data that is read in chunks; 0: samples are read one by one. By default they
/// bound the window.
BucketingOptions bucket_options(const OpSpec& bucket, std::span<const SampleLengths> lengths, int64_t mixed_rows,
                                uint64_t seed);

/// Logs a warning if the ranks of a job have batches of unlike cost in some steps.
void warn_of_unlike_batches(const OpSpec& bucket, int64_t world_size);

}  // namespace forebay
