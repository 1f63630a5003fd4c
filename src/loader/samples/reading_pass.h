#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/compile/compile.h"
#include "loader/compile/packing_step.h"
#include "loader/compile/sizing.h"
#include "loader/samples/run_pass.h"
#include "loader/samples/sample_classes.h"
#include "pipeline/selection.h"

namespace forebay {

/// Runs a filter over every sample of the selection, in a pass that reads only the fields the
/// filter needs.
Result<std::shared_ptr<const MarkedSamples>> run_filter(const CompileInput& input, const SizingInput& sizes,
                                                        const PassCallbacks& callbacks);

/// Measures the rows that a `.pack()` takes from each sample, in a pass that reads only its fields. A
/// sample is Corrupt if they are not of one length. Caches of the pipeline store the results of the
/// pass. Nothing is read if the index of the data set has the lengths.
Result<SequenceSizes> measure_rows(const CompileInput& input, const SizingInput& sizes, const PassCallbacks& callbacks);

/// Measures the length that a `.bucket()` takes from each sample, in a pass that reads only what
/// its field needs, or finds those that the index of the data set has, or that an earlier run kept
/// beside the pipeline's cache. The length
/// of a sample that is left out, and one of 0, counts as 1.
Result<std::vector<float>> measure_field(const CompileInput& input, const SizingInput& sizes,
                                         const PassCallbacks& callbacks);

/// Reads the class of each sample from a field as it is after the first `end` steps, in a pass that
/// reads only that field. Bad samples get a class of their own.
Result<std::shared_ptr<const SampleClasses>> read_classes(const CompileInput& input, size_t end,
                                                          const std::string& field, const SizingInput& sizes,
                                                          const PassCallbacks& callbacks);

/// Reads one number of each sample in the same way. It is 0 for bad samples. InvalidArgument if the
/// field is not one number.
Result<std::vector<double>> read_numbers(const CompileInput& input, size_t end, const std::string& field,
                                         const SizingInput& sizes, const PassCallbacks& callbacks);

}  // namespace forebay
