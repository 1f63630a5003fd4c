#pragma once

#include <cstdint>

#include "pipeline/chunk_plan.h"
#include "pipeline/operator.h"

namespace forebay {

/// Of a row, in fields of known shape.
uint64_t fixed_bytes(const Schema& schema);

/// Notes what a column operator takes for the columns that it makes (`used.makes`).
void set_made_bytes(ChunkOp& op, const FieldUse& used, const Schema& before, const Schema& after);

/// What an operator on single samples may take to compute fields of known shape: the values as they were and as they become, and
/// tables of weights.
uint64_t working_bytes(const FieldUse& used, const Schema& before, const Schema& after);

}  // namespace forebay
