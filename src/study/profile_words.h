#pragma once

#include <string>
#include <vector>

#include "forebay/profile.h"

namespace forebay {

// Texts about strategies, which profile_text.cc and the page share.

std::string rate_text(const Strategy& strategy);  ///< "1156 (1080 to 1230)"
std::string duration_text(double seconds);        ///< "4.6 s", "12 min", "3.1 h"
std::string bytes_text(const Strategy& strategy);
std::string pays_text(const Strategy& strategy);
std::string name_text(const Strategy& strategy);
/// Returns the costs of the parts, the costliest first.
std::vector<PartCost> costs_of(const Profile& profile);
/// Says what to do, and what it gains.
std::string gain_sentence(const Profile& profile);
/// Says how the figures were measured.
std::string tried_sentence(const Profile& profile);

}  // namespace forebay
