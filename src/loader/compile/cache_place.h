#pragma once

#include "base/hash.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns the identity of the first `step` steps, independent of the sample: equal identities mean
/// equal values before step `step`, so a cache there may share its entries. It covers every earlier
/// step that changes sample content, with all arguments, and the versions of this library and of
/// the codecs. Of the source's arguments it covers those that change content, but not those that
/// say where the data lies. If an earlier step calls a function without a version, the identity
/// holds only for this very description in this process.
Hash128 prefix_identity(const Description& description, size_t step);

/// The same for a step of a part of a zip: the identity that it has in the part by itself.
Hash128 prefix_identity_in_part(const Description& description, size_t step);

/// Returns a text that differs for different values, even if their strings are not valid UTF-8.
std::string identity_text(const Json& value);

/// Describes the steps before `step` for people, one line each. Addresses are shown without
/// passwords and queries.
std::string prefix_description(const Description& description, size_t step);

}  // namespace forebay
