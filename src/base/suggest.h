#pragma once

#include <span>
#include <string>
#include <string_view>

namespace forebay {

/// How many insertions, deletions, replacements and swaps of neighbours turn one word into the other.
/// Time and memory with the product of the lengths: for words, not for texts.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate that was probably meant, or nothing: at most a third of the letters may be wrong, or it must begin
/// with what was typed. The first of equally good ones.
std::string suggest(std::string_view typed, std::span<const std::string> candidates);

/// " (did you mean 'inspect'?)", for the middle of a message. Empty when nothing is near.
std::string suggestion_text(std::string_view typed, std::span<const std::string> candidates);

}  // namespace forebay
