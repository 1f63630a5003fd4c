#pragma once

#include "base/hash.h"
#include "pipeline/description.h"

namespace forebay {

/// Identity of what leaves step `step` - 1, whatever sample it is: of everything before `step` that changes what is in samples, with
/// all arguments (of the source, what changes the content of a sample, but not which samples there are), and of the versions of
/// this library and of the codecs. Where it depends on a function that has no version it holds for this very description, in
/// this process.
Hash128 place_identity(const Description& description, size_t step);

/// A text that no other value has, also where strings in it are not UTF-8.
std::string identity_text(const Json& value);

/// These steps for people, a line each. Addresses are shown without passwords and queries.
std::string place_description(const Description& description, size_t step);

}  // namespace forebay
