#pragma once

#include <string>
#include <vector>

#include "forebay/problem.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns the problems of a source that show without touching storage: an unknown name, arguments
/// that are unknown, missing or of the wrong type, and a missing attachment (data set or arrays),
/// as in a pipeline read from JSON. Whether files exist is found when they are opened.
std::vector<Problem> check_source(const OpSpec& source);

/// Returns a text argument, or `otherwise` if it is not given or not a text.
std::string text_arg(const OpSpec& source, const char* name, const std::string& otherwise = "");

/// A field of `arrays`: a .npy file, or an array in the step's attachment if `path` is empty.
struct NamedArray {
  std::string name, path;
};
/// Returns the fields in order. The argument `fields` is a list of names if the step has an
/// attachment, else an object from name to path.
std::vector<NamedArray> named_arrays(const OpSpec& source);

/// Makes the step for arrays that all are .npy files, which JSON can express.
OpSpec npy_arrays_step(const std::vector<NamedArray>& arrays);

}  // namespace forebay
