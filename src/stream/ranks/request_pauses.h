#pragma once

#include <chrono>

namespace forebay {

/// Pauses between requests to another rank for something that it does not have yet. A pause is
/// twice as long as the one before, between these limits.
inline constexpr std::chrono::milliseconds kShortestPause{1}, kLongestPause{20};

}  // namespace forebay
