#pragma once

#include "forebay/profile.h"

namespace forebay {

/// Profiles a pipeline over many data sets: each part by itself, with the steps behind it. A cut is
/// in one part, and each part has its own best one, or behind several parts. The speed of the whole
/// with several cuts follows from those of the parts: times add up, so it is the harmonic mean,
/// weighted by the parts' shares of the samples. If time allows, the whole is then run with the best
/// of them. The options and errors of profile(); files are not tried.
Result<Profile> profile_parts(const Pipeline& pipeline, const ProfileOptions& options);

}  // namespace forebay
