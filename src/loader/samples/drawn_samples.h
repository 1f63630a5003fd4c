#pragma once

#include "loader/compile/ordering.h"
#include "loader/samples/chosen_samples.h"
#include "loader/samples/reading_pass.h"

namespace forebay {

/// Applies the `.sample()` or `.balance()` of a description, if any, to the samples in
/// `whole.selection`: sets `chosen->drawing`. Takes a pass over them if a field decides.
/// InvalidArgument for weights that do not fit the samples, and fields that tell no classes.
Status draw_samples(const CompileInput& whole, const SizingInput& sizes, const PassCallbacks& callbacks,
                    ChosenSamples* chosen);

}  // namespace forebay
