#pragma once

#include <vector>

#include "pipeline/catalog.h"

namespace forebay {

/// Completes `schema`, the fields after step `made_by`, by what later steps use. The step is user
/// code, or a source whose fields are not known. A field that a later step reads and no other step
/// makes is added with kind kAny: its type is known once a sample arrives. User code may also
/// change fields that pass through it, so that the types of fields that later steps work on become
/// kAny, too. Pictures keep their type, since operators on pictures check each one. Lists stay
/// ragged.
void expect_user_fields(const std::vector<OpSpec>& steps, size_t made_by, const Catalog& catalog, Schema& schema);

}  // namespace forebay
