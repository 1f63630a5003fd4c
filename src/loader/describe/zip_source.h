#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/source.h"
#include "forebay/pipeline.h"
#include "loader/describe/open_source.h"
#include "pipeline/operator.h"
#include "pipeline/selection.h"

// The source of parts that lie side by side.

namespace forebay {

/// Arguments of `zip`, apart from its parts.
std::vector<ArgDef> zip_arg_defs();
/// Adds problems of the arguments. Those of the parts are found by tree_rules.h.
void check_zip(const OpSpec& source, std::vector<Problem>& found);
/// The arguments as a description holds them.
Json zip_args(const ZipSourceOptions& options);

/// The fields of all parts, as "<part>/<field>".
Schema announced_zip(const OpSpec& source);
/// Opens the source of each part, and finds the samples that belong together. The result is a
/// JoinedChunks if the first part is read in chunks and no other one from objects. Otherwise it is
/// a JoinedSamples, and parts that are read in chunks are held in memory.
Result<std::shared_ptr<const Source>> open_zip(const OpSpec& source, const OpenSourceOptions& options);

/// Samples of parts that choose them by themselves, by the name of the part.
struct ChosenInPart {
  std::shared_ptr<const Selection> selection;
  int64_t passes = 1;  ///< how often it has them, one pass after the other
};
using ChosenInParts = std::map<std::string, ChosenInPart>;
/// Joins the parts of an opened zip anew, of the parts that are named the chosen samples alone. A
/// zip with such parts is joined only by this, once the choices are made. The version stays.
Result<std::shared_ptr<const Source>> join_chosen(const OpSpec& source, const Source& opened,
                                                  const ChosenInParts& chosen);

}  // namespace forebay
