#pragma once

#include <chrono>
#include <stop_token>

namespace forebay {

/// Waits so long; false, at once, where a stop is requested.
bool pause_for(std::chrono::nanoseconds time, std::stop_token stop);

}  // namespace forebay
