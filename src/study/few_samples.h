#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/source.h"
#include "pipeline/description.h"

namespace forebay {

/// Repetition of each sample.
struct Copies {
  int64_t count = 1;
  bool alike = false;  ///< all copies share one cache entry; otherwise each has its own identity
};

/// Returns a source of the chosen samples only, with new ids, repeated as `copies` says. For a
/// table, `chosen` are numbers of chunks.
std::shared_ptr<const Source> subset_of(std::shared_ptr<const Source> source, std::vector<int64_t> chosen,
                                        const Copies& copies = {});
/// Returns a source of about `samples` samples that are representative of all. The stored size says
/// most about the cost of a sample, so the samples are drawn systematically from a list in the
/// order of size (W. G. Cochran, Sampling Techniques, 3rd ed., 8.3); samples of equal size are
/// spread evenly. Of a table it takes whole chunks, at least two, until they have that many rows.
std::shared_ptr<const Source> representative_subset(std::shared_ptr<const Source> source, int64_t samples,
                                                    const Copies& copies = {});
/// Whether a cache over a part of the source has the entries that one over all of it has. False for
/// user code, for a source that leaves rows out itself, and for one that does not know the versions
/// of its samples or still has to learn them (as if opened without a cache).
bool supports_subset(const OpSpec& source);

/// Returns the same steps over `source`, which is open.
Description with_source(const Description& description, std::shared_ptr<const Source> source);

}  // namespace forebay
