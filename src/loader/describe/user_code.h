#pragma once

#include <memory>
#include <vector>

#include "forebay/pipeline.h"
#include "pipeline/branch_plan.h"

namespace forebay {

class Problems;
struct ArgDef;
struct OpDef;
struct OpSpec;

/// C++ functions that a pipeline carries as attachments of its `map` and `filter` steps. The
/// function of a step without an attachment is in another language, which calls it (see
/// ForeignCall).
struct MapAttachment {
  MapFunction function;
};
struct FilterAttachment {
  FilterFunction function;
};

/// Definitions of `map` and `filter`: their arguments, and the schema after them. batch_functions.h
/// has those of functions on whole batches.
OpDef map_op();
OpDef filter_op();
/// Arguments of the source `dataset`.
std::vector<ArgDef> dataset_args();
/// The step that makes the samples of a part of a zip whose source is `dataset`.
OpDef dataset_items_op();

/// Runs a C++ map function on the named fields of each record, or on all fields if `fields` is
/// empty. Several compute threads call it at the same time, so the function must be thread-safe. An
/// exception is a failure of the sample (kUser, with the exception as payload); std::bad_alloc
/// passes through.
std::unique_ptr<RecordOp> native_map(std::shared_ptr<const MapAttachment> attachment, Schema before, Schema after,
                                     std::vector<std::string> fields);
/// Replaces the record by one Boolean, the function's answer.
std::unique_ptr<RecordOp> native_filter(std::shared_ptr<const FilterAttachment> attachment, Schema before,
                                        std::vector<std::string> fields);

/// Reports a step whose function is missing, as in a pipeline that was read from JSON.
void check_function(const OpSpec& op, Problems& problems);
/// The step with its function, as states and messages name it: "map(<function augment>)".
std::string name_of_function(const OpSpec& op);

/// Makes the stage for a function in another language. `step` is the index in the description; it
/// is 0 for a source that the user wrote.
ForeignStage foreign_stage(const OpSpec& op, size_t step, uint32_t random_index, const Schema& before,
                           const Schema& after);

}  // namespace forebay
