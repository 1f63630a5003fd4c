#pragma once

#include "ops/definition/args.h"

// Functions shared by the operators that make batches: which fields can be stacked, and the argument
// `ragged`.

namespace forebay {

/// Adds a problem for each field whose samples have no common shape.
void check_stacked(const Schema& schema, Problems& problems);
/// Adds a problem for each field in `ragged` that user code does not make.
void check_ragged(const Args& args, const Schema& schema, Problems& problems);
/// The argument `ragged` of such operators.
ArgDef ragged_arg();
/// The fields that `ragged` names.
std::vector<std::string> ragged_fields(const OpSpec& spec);

}  // namespace forebay
