#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// Number of insertions, deletions, replacements and swaps of neighbours that turn one word into
/// the other. Time grows with the product of the lengths: meant for words, not for texts.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate that was probably meant, or nothing. At most a third of the letters may be wrong,
/// or the candidate must begin with `typed`. The first of equally good candidates wins.
std::string suggest(std::string_view typed, std::span<const std::string> candidates);

/// Text for the middle of a message: " (did you mean 'inspect'?)". Empty if no candidate is near.
std::string suggestion_text(std::string_view typed, std::span<const std::string> candidates);

}  // namespace forebay
