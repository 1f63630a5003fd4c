#pragma once

#include <string>

#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// Where what brings a finished folder up to date is made, below it: as a folder of its own, so that what is there stays whole meanwhile.
std::string update_folder(const std::string& folder);

/// Makes that folder and those in it. From then on nobody who settles takes it for left over.
Status begin_update(const std::string& folder);

/// Where that is finished, it takes the place of what was there; where it is not, or there is none, nothing happens. Whoever is killed in it
/// is followed by the next who calls this: until then the folder may have no manifest. Several may call it at once.
/// Unavailable where files cannot be moved.
Status settle_update(const std::string& folder);

/// An update, or a beginning, of something else is given up: all but what is finished in the folder.
void give_up_unfinished(const std::string& folder);

}  // namespace forebay
