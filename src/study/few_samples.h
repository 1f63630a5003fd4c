#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/source.h"
#include "pipeline/description.h"

namespace forebay {

/// Those samples of a data set, numbered anew, and these so many times over; of a table those units. Copies have identities of their own, so that a
/// cache keeps each by itself.
std::shared_ptr<const Source> chosen_of(std::shared_ptr<const Source> source, std::vector<int64_t> chosen,
                                        int64_t copies = 1);
/// So many samples, as far apart as each other; of a table whole units until they have as many rows, two of them at least.
std::shared_ptr<const Source> spread_of(std::shared_ptr<const Source> source, int64_t samples, int64_t copies = 1);
/// Whether a part of it with copies gives the same samples: not what asks the user's code by number, nor what leaves rows out itself, nor what
/// has to learn versions of what it reads.
bool can_be_repeated(const OpSpec& source);

/// The same steps over that source, which is open.
Description over(const Description& description, std::shared_ptr<const Source> source);

}  // namespace forebay
