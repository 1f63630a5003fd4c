#pragma once

#include <vector>

#include "pipeline/catalog.h"

namespace forebay {

/// All operators Forebay has.
const Catalog& catalog();

/// What the source of a description gives, without touching storage. A source that cannot be judged without (arrays in files,
/// manifests) is open-ended; so is user code.
Schema announced_schema(const OpSpec& source);
/// The description's problems, with those of its source.
std::vector<Problem> check(const Description& description);
/// The same with the schema that the opened source really has.
std::vector<Problem> check(const Description& description, const Schema& source);
/// InvalidArgument that lists them.
Status problems_as_status(const std::vector<Problem>& problems);

}  // namespace forebay
