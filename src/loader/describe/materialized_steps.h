#pragma once

#include <optional>
#include <string>

#include "base/hash.h"
#include "base/source.h"
#include "pipeline/description.h"

namespace forebay {

/// Steps of a description up to `last`, inclusive, in the form in which materialised data stores
/// them: the steps that the fingerprint covers, without the order step.
struct StepsBefore {
  std::string steps;               ///< JSON: [{"op": name, "args": {…}, "attachment": name}, …]
  std::optional<size_t> order_at;  ///< index in `steps` at which the order step stood
};
StepsBefore steps_before(const Description& description, size_t last);

/// Returns the fingerprint of the description. If its source is materialised data, returns that of
/// the pipeline over the original data set, so that each can resume from the other's states.
Hash128 fingerprint_of(const Description& description, const Source& source);

/// Returns the source that data was materialised from, given Source::steps_before() or
/// MaterializedManifest::steps. Nothing if JSON cannot express it, or if it lacks its password.
std::optional<OpSpec> original_source(const std::string& steps);

/// Whether both texts (MaterializedManifest::steps) have the same steps, over sources of one kind
/// at any place.
bool same_but_source(const std::string& steps, const std::string& others);

}  // namespace forebay
