#pragma once

#include <string>

#include "forebay/profile.h"

namespace forebay {

/// What the text and the page say of a strategy, in the same words.
std::string rate_text(const Strategy& strategy);  ///< "1156 (1080 to 1230)"
std::string duration_text(double seconds);        ///< "4.6 s", "12 min", "3.1 h"
std::string bytes_text(const Strategy& strategy);
std::string pays_text(const Strategy& strategy);
std::string name_text(const Strategy& strategy);
/// What to do, and what it gains.
std::string gain_sentence(const Profile& profile);
/// Where the figures come from.
std::string tried_sentence(const Profile& profile);

}  // namespace forebay
