#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/source.h"
#include "pipeline/description.h"

namespace forebay {

/// How often each sample is there.
struct Copies {
  int64_t count = 1;
  bool alike = false;  ///< a cache keeps one of them for all; else each has an identity of its own
};

/// Those samples of a data set, numbered anew, and these so many times over; of a table those chunks.
std::shared_ptr<const Source> chosen_of(std::shared_ptr<const Source> source, std::vector<int64_t> chosen,
                                        const Copies& copies = {});
/// So many samples that stand for all: of each size of what is stored as large a share as there is of all (samples drawn systematically from a
/// list in the order of size: W. G. Cochran, Sampling Techniques, 3rd ed., 8.3), since what is stored tells most of what a sample costs; of equal
/// ones those that stand as far apart as each other. Of a table whole chunks until they have as many rows, two of them at least.
std::shared_ptr<const Source> standing_for(std::shared_ptr<const Source> source, int64_t samples,
                                           const Copies& copies = {});
/// Whether a cache keeps of a part of it what it keeps of it: not what asks the user's code by number, nor what leaves rows out itself, nor what does
/// not know the versions of its samples, or has to learn them: as of a loader that was opened without a cache.
bool can_be_repeated(const OpSpec& source);

/// The same steps over that source, which is open.
Description over(const Description& description, std::shared_ptr<const Source> source);

}  // namespace forebay
