#pragma once

#include <optional>
#include <string>

#include "cli/verbs.h"
#include "forebay/pipeline.h"

namespace forebay {

/// A pipeline without problems, or the exit code of a verb that could not get one.
struct CheckedPipeline {
  std::optional<Pipeline> pipeline = {};
  int exit_code = 0;  ///< if there is no pipeline
};

/// Reads the pipeline of a file and checks it. Reports an error, or all problems of the pipeline
/// with their remedies, before anything is opened.
CheckedPipeline read_checked_pipeline(const std::string& path, bool json, const Console& console);

}  // namespace forebay
