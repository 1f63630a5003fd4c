#pragma once

#include <string>
#include <vector>

#include "forebay/pipeline.h"
#include "pipeline/description.h"

namespace forebay {

/// Everything wrong with a source, as far as can be said without touching storage: a name that there is not, arguments that are
/// unknown, missing or of the wrong type, and a data set or arrays that are not there, as in a pipeline from JSON.
/// Touches no storage: that files exist is found when they are opened.
std::vector<Problem> check_source(const OpSpec& source);

/// An argument that is a text; what is none, or is not given, is `otherwise`.
std::string text_arg(const OpSpec& source, const char* name, const std::string& otherwise = "");

/// A field of `arrays`: in memory, as an attachment of the step, or a .npy file where `path` is not empty.
struct NamedArray {
  std::string name, path;
};
/// In the order of the fields. `fields` is a list of names where there is an attachment, else an object from name to path.
std::vector<NamedArray> named_arrays(const OpSpec& source);

/// The step for arrays all of which are .npy files, which JSON can hold.
OpSpec npy_arrays_step(const std::vector<NamedArray>& arrays);

}  // namespace forebay
