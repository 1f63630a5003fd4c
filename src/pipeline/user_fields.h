#pragma once

#include <vector>

#include "pipeline/catalog.h"

namespace forebay {

/// What later steps say of the fields that leave step `made_by`: user code, or a source whose fields are not known before it is opened.
/// A field that they ask for and that nobody else makes is taken on trust (kAny) until a sample comes. User code may also give
/// back fields that it was not given: what later steps work on is then of a type that only a sample tells. Pictures keep theirs, since
/// the operators on them look at each, and lists stay (values, offsets) in batches.
void expect_user_fields(const std::vector<OpSpec>& steps, size_t made_by, const Catalog& catalog, Schema& schema);

}  // namespace forebay
