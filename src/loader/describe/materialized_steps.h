#pragma once

#include <optional>
#include <string>

#include "base/hash.h"
#include "base/source.h"
#include "pipeline/description.h"

namespace forebay {

/// The steps of a description up to and with `last`, as materialised data keeps them: all that a fingerprint is made of, but for the order,
/// whose place among them is told.
struct StepsBefore {
  std::string steps;               ///< JSON: [{"op": name, "args": {…}, "attachment": name}, …]
  std::optional<size_t> order_at;  ///< where in them the order stood
};
StepsBefore steps_before(const Description& description, size_t last);

/// Of the description; where its source is materialised data, of the pipeline that begins with what that was made of. So both go on from each
/// other's states.
Hash128 fingerprint_of(const Description& description, const Source& source);

/// The source that materialised data was made of, from Source::steps_before() or MaterializedManifest::steps; nothing where JSON cannot say it, or
/// where it was told without its password.
std::optional<OpSpec> original_source(const std::string& steps);

/// Whether both (MaterializedManifest::steps) are the same steps over sources of one kind, wherever those lie.
bool same_but_source(const std::string& steps, const std::string& others);

}  // namespace forebay
