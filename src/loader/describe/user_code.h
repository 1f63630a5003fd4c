#pragma once

#include <memory>

#include "forebay/pipeline.h"
#include "pipeline/execution_plan.h"
#include "pipeline/operator.h"

namespace forebay {

/// C++ functions that a pipeline carries as attachments of its `map` and `filter` steps. A step without one is called by the
/// face that made it (see ForeignCall).
struct MapAttachment {
  MapFunction function;
};
struct FilterAttachment {
  FilterFunction function;
};

/// The definitions of `map` and `filter`: arguments and what is known of the schema behind them.
OpDef map_op();
OpDef filter_op();

/// Runs a C++ map function on the named fields (all when empty) of each record.
/// Runs on compute threads, several at a time: the function must bear that. Whatever it throws is a failure of the sample (kUser, with
/// the exception as payload); std::bad_alloc passes through.
std::unique_ptr<RecordOp> native_map(std::shared_ptr<const MapAttachment> attachment, Schema before, Schema after,
                                     std::vector<std::string> fields);
/// Replaces the record by one bool: the function's answer.
std::unique_ptr<RecordOp> native_filter(std::shared_ptr<const FilterAttachment> attachment, Schema before,
                                        std::vector<std::string> fields);

/// A step that is called by the face that made it. `step`: its index in the description; 0 for a source of the user's.
ForeignStage foreign_stage(const OpSpec& op, size_t step, uint32_t random_index, const Schema& before,
                           const Schema& after);

}  // namespace forebay
