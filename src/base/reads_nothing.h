#pragma once

#include "base/source.h"

namespace forebay {

/// True for a sample without stored bytes, such as an empty list of objects.
inline bool reads_nothing(const SampleSource::Fetch& fetch) { return fetch.request.key.empty() && fetch.size == 0; }

}  // namespace forebay
