#pragma once

#include <chrono>

namespace forebay {

/// Pauses between requests to another rank for something that it does not have yet. A pause is
/// twice as long as the one before, between these limits.
inline constexpr std::chrono::milliseconds kShortestPause{1}, kLongestPause{20};

/// Longest silence of a rank that the others wait for. A rank that is alive sends requests also if
/// it needs nothing, so a longer silence means that it is gone.
inline constexpr std::chrono::seconds kLongestSilence{60};

}  // namespace forebay
