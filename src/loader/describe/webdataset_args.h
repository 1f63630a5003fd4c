#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "forebay/pipeline.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns the arguments of `webdataset`, as a description holds them:
///
/// | argument   | content                                                                         |
/// |------------|---------------------------------------------------------------------------------|
/// | `pattern`  | a text, or a list of texts                                                      |
/// | `fields`   | `{name: "jpg;png"}`, or a list of extensions; all extensions if absent         |
/// | `optional` | a list of fields that a sample may lack                                         |
/// | `chunk`    | bytes, or a text such as "8MiB"                                                 |
/// | `split`    | "first" or "last": the dot that ends a sample's name                            |
/// | `index`    | "cache" or "beside": where the indexes of shards are stored                     |
///
/// A field with several extensions takes the first one that a sample has.
Json webdataset_args(Json pattern, const WebdatasetOptions& options);

/// Returns the schema without touching storage: the fields in `fields`; open-ended if not given.
Schema announced_webdataset(const OpSpec& source);
void check_webdataset(const OpSpec& source, std::vector<Problem>& problems);
/// Opens the source. Its indexes are stored in the cache folder, below `tar_indexes`.
Result<std::shared_ptr<const Source>> open_webdataset_step(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
