#pragma once

#include <vector>

#include "format/joined/joined_samples.h"

namespace forebay {

/// Returns the stores in which the objects of a source's samples lie: those that sample `id` names;
/// of joined samples, those of all parts that are read.
inline std::vector<Store*> stores_of(const SampleSource& source, int64_t id) {
  if (const JoinedSamples* const joined = as_joined(source)) return joined->stores();
  const SampleSource::Fetch fetch = source.fetch(id);
  std::vector<Store*> stores;
  if (fetch.store != nullptr) stores.push_back(fetch.store);
  for (const SampleSource::Fetch& other : fetch.others) stores.push_back(other.store);
  return stores;
}

}  // namespace forebay
