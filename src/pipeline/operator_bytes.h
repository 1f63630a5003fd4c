#pragma once

#include <cstdint>

#include "pipeline/chunk_plan.h"

namespace forebay {

struct FieldUse;

/// Returns the bytes of a row in fields of fixed shape.
uint64_t fixed_bytes(const Schema& schema);

/// Adds to `op` the bytes of the columns that a column operator makes (`used.makes`).
void set_made_bytes(ChunkOp& op, const FieldUse& used, const Schema& before, const Schema& after);

/// Returns the bytes that an operator on single samples may need to compute fields of fixed shape:
/// the values before and after it, and tables of weights.
uint64_t working_bytes(const FieldUse& used, const Schema& before, const Schema& after);

}  // namespace forebay
