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
  /// The part of a zip whose fields the step works on; see PartFields. Empty if it works on all
  /// fields. branches_of() sets it; it is not part of the description.
  std::string part = {};

  /// Name of the step in statistics and errors: "decode_image", or "mask/decode_image".
  std::string shown_name() const { return part.empty() ? name : part + "/" + name; }
};

/// Names a step in a problem, as "3: random_crop".
std::string place_of(const std::vector<OpSpec>& steps, size_t step);

}  // namespace forebay
