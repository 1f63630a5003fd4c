#pragma once

#include <optional>

#include "format/materialized/manifest.h"
#include "materialize/writing_place.h"

namespace forebay {

/// Bringing a bucket up to date, in which nothing can be moved: the new files are written below a folder of their own (MaterializedManifest::below), as a whole
/// materialisation, and then one write of the manifest makes them what is read. What was there before goes after that.

/// Where the update in `target`, which is the folder `below` of `place`, is finished, it becomes what is read at `place`. Whoever is killed in it is followed by the next
/// who calls this. Several may call it at once.
Status publish_update(const WritingPlace& place, const WritingPlace& target, const std::string& below);

/// Takes away what an update has replaced, if whoever published it could not.
Status erase_replaced(const WritingPlace& place);

}  // namespace forebay
