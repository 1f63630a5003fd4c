#pragma once

#include "ops/definition/args.h"

// The argument `ragged` of the operators that make batches.

namespace forebay {

/// Adds a problem for each field in `ragged` that user code does not make.
void check_ragged(const Args& args, const Schema& schema, Problems& problems);
/// The argument `ragged` of such operators.
ArgDef ragged_arg();
/// The fields that `ragged` names.
std::vector<std::string> ragged_fields(const OpSpec& spec);

}  // namespace forebay
