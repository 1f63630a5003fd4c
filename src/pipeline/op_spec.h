#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "pipeline/description.h"
#include "pipeline/json_fwd.h"

namespace forebay {

class Source;

/// One of the data sets that a source is made of, as `mix` is: a pipeline of its own.
struct PipelinePart {
  std::string name;
  Description pipeline;
};

/// One step of a description: a name and its arguments. An argument that JSON cannot hold (a Python
/// function, an array in memory) is an attachment.
struct OpSpec {
  std::string name;
  Json args = Json::object();
  std::shared_ptr<void> attachment;
  /// Name of the attachment in states and messages ("<function augment>"). Part of the fingerprint.
  std::string attachment_name;
  /// The source, if it is open already. Not part of the description.
  std::shared_ptr<const Source> opened = nullptr;
  /// The parts of a source that is made of other pipelines; empty for all other steps.
  std::vector<PipelinePart> parts = {};
  /// How messages name the step, if its number in the description is not that of the user's
  /// pipeline. Not part of the description.
  std::string place = {};
};

/// Names a step in a problem, as "3: random_crop".
std::string place_of(const std::vector<OpSpec>& steps, size_t step);

}  // namespace forebay
