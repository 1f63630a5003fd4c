#pragma once

#include <string_view>
#include <vector>

#include "base/schema.h"
#include "forebay/problem.h"
#include "forebay/status.h"
#include "pipeline/branches.h"

namespace forebay {

class Catalog;
class Source;
struct OpSpec;

/// Returns the catalog of all operators.
const Catalog& catalog();

/// Returns the schema of a description's source, without touching storage. The schema is open-ended
/// if it depends on storage (arrays in files, manifests), or if user code gives the samples.
Schema announced_schema(const OpSpec& source);
/// Returns the problems of a description, including those of its source.
std::vector<Problem> check(const Description& description);
/// The same with the schema of the opened source, or of the sources of all branches.
std::vector<Problem> check(const Description& description, const Source& source);
/// Returns the branches of a description, depth first.
std::vector<Branch> branches_of(const Description& description);
/// Returns InvalidArgument with a list of the problems.
Status problems_as_status(const std::vector<Problem>& problems);

}  // namespace forebay
