#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "forebay/pipeline.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"

namespace forebay {

/// The arguments of `webdataset`, as a description holds them:
///
/// | argument   | is                                                                                                     |
/// |------------|--------------------------------------------------------------------------------------------------------|
/// | `pattern`  | a text, or a list of texts                                                                             |
/// | `fields`   | `{name: "jpg;png"}`: the first of these extensions that a sample has; or a list of extensions; absent: all |
/// | `optional` | a list of fields that a sample may lack                                                                |
/// | `chunk`     | bytes, or a text such as "8MiB"                                                                        |
/// | `split`    | "first" or "last": the dot that ends a sample's name                                                  |
/// | `index`    | "cache" or "beside": where what was found in shards is kept                                            |
Json webdataset_args(Json pattern, const WebdatasetOptions& options);

/// Without touching storage: what samples have where `fields` says it, else open-ended.
Schema announced_webdataset(const OpSpec& source);
void check_webdataset(const OpSpec& source, std::vector<Problem>& problems);
/// Indexes that were made are kept in the folder of caches, below `tar_indexes`.
Result<std::shared_ptr<const Source>> open_webdataset_step(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
